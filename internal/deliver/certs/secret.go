package certs

import (
	"fmt"
	"time"
)

// The entries of the Secret: certificates, the keys of those that sign or will sign, and when the step began
// (RFC 3339).
const (
	signerEntry   = "signer"
	nextEntry     = "next"
	previousEntry = "previous"
	sinceEntry    = "since"
	proxiesEntry  = "proxies" // key only: what secrets of the proxies are derived from

	certificateSuffix = ".crt"
	keySuffix         = ".key"
)

// encodeState is the Secret's content.
func encodeState(s *state) (map[string][]byte, error) {
	data := map[string][]byte{sinceEntry: []byte(s.since.UTC().Format(time.RFC3339Nano))}
	if len(s.key) > 0 {
		data[proxiesEntry+keySuffix] = s.key
	}
	for entry, a := range map[string]*authority{signerEntry: s.signer, nextEntry: s.next, previousEntry: s.previous} {
		if a == nil {
			continue
		}
		data[entry+certificateSuffix] = a.certificatePEM()
		if a.key == nil {
			continue
		}
		key, err := a.keyPEM()
		if err != nil {
			return nil, err
		}
		data[entry+keySuffix] = key
	}
	return data, nil
}

// decodeState reads what encode wrote.
func decodeState(data map[string][]byte) (*state, error) {
	s, err := &state{}, error(nil)
	if s.since, err = time.Parse(time.RFC3339Nano, string(data[sinceEntry])); err != nil {
		return nil, fmt.Errorf("entry %s: %w", sinceEntry, err)
	}
	for _, e := range []struct {
		entry string
		to    **authority
		signs bool
	}{{signerEntry, &s.signer, true}, {nextEntry, &s.next, true}, {previousEntry, &s.previous, false}} {
		certificate, found := data[e.entry+certificateSuffix]
		if !found && e.entry != signerEntry {
			continue
		}
		a, err := parseAuthority(certificate, data[e.entry+keySuffix])
		if err == nil && e.signs && a.key == nil {
			err = fmt.Errorf("its key %s is missing", e.entry+keySuffix)
		}
		if err != nil {
			return nil, fmt.Errorf("entry %s: %w", e.entry+certificateSuffix, err)
		}
		*e.to = a
	}
	if key := data[proxiesEntry+keySuffix]; len(key) > 0 { // a former version wrote none
		s.key = key
	}
	if s.next != nil && s.previous != nil {
		return nil, fmt.Errorf("it has both %s and %s, but no step of a rotation has both", nextEntry, previousEntry)
	}
	return s, nil
}

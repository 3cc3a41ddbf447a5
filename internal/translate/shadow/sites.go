package shadow

import (
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// maxCompared is how many earlier sites of one path a site is compared with: a host may have thousands, which differ in
// headers. Sites behind these are not looked at.
const maxCompared = 100

// earlierEntries are sites of one domain by where their paths are, so that a site is compared with few of them.
type earlierEntries map[string][]earlierEntry

type earlierEntry struct {
	key   model.RouteEntryKey
	entry model.RouteEntry
}

// regexKey is the key of sites that have no literal path or service to look them up by.
const regexKey = "~"

// pathKey is where a match is.
func pathKey(m model.Match) string {
	switch {
	case m.GRPC != nil && (m.GRPC.Regex || m.GRPC.Service == ""), m.Path.Type == model.PathRegex:
		return regexKey
	case m.GRPC != nil:
		return m.GRPC.Service
	}
	return strings.TrimRight(m.Path.Value, "/")
}

func (e earlierEntries) addEntry(k model.RouteEntryKey, s model.RouteEntry) {
	at := pathKey(*s.Match)
	if len(e[at]) < maxCompared {
		e[at] = append(e[at], earlierEntry{k, s})
	}
}

// findCovering finds an earlier site of another rule that covers this one, in the first place where there is one: its
// own path, a shorter one, an expression.
func (e earlierEntries) findCovering(k model.RouteEntryKey, s model.RouteEntry) (by earlierEntry, found bool) {
	at := strings.TrimRight(s.Match.Path.Value, "/")
	if s.Match.GRPC != nil {
		at = s.Match.GRPC.Service
	}
	for {
		if by, found = e.findAmong(at, k, s); found {
			return by, true
		}
		slash := strings.LastIndexByte(at, '/')
		if slash < 0 {
			return e.findAmong(regexKey, k, s)
		}
		at = at[:slash]
	}
}

func (e earlierEntries) findAmong(at string, k model.RouteEntryKey, s model.RouteEntry) (by earlierEntry, found bool) {
	for _, by := range e[at] {
		if by.key.Rule != k.Rule && by.entry.Match.Covers(*s.Match) {
			return by, true
		}
	}
	return by, false
}

package certs

import (
	"crypto/rand"
	"time"
)

// step is a step of a rotation.
type step string

const (
	steady     step = "steady"
	introduced step = "introduced"
	switched   step = "switched"
)

// state is the decoded Secret.
type state struct {
	signer   *authority
	next     *authority // will sign; only in step introduced
	previous *authority // has signed, without its key; only in step switched
	since    time.Time  // when the step began
	// key is what secrets of the proxies are derived from. It is random, and stays the same in all steps.
	key []byte
}

// withKey is the state with the key of the former one (nil: there is none), or a new one if that has none.
func (s *state) withKey(former *state) *state {
	if s.key != nil {
		return s
	}
	with := *s
	if former != nil {
		with.key = former.key
	}
	if with.key == nil {
		with.key = make([]byte, 32)
		_, _ = rand.Read(with.key) // never fails
	}
	return &with
}

func (s *state) currentStep() step {
	switch {
	case s.next != nil:
		return introduced
	case s.previous != nil:
		return switched
	}
	return steady
}

// bundlePEM is all trusted certificates, as PEM.
func (s *state) bundlePEM() []byte {
	var text []byte
	for _, a := range []*authority{s.signer, s.next, s.previous} {
		if a != nil {
			text = append(text, a.certificatePEM()...)
		}
	}
	return text
}

// nextState returns the next state if it is due, else s; look is when to look again. The purpose is a part of the next
// authority's name.
func nextState(s *state, purpose string, t Times, now time.Time) (to *state, look time.Time, err error) {
	look = s.since.Add(t.Step)
	if !now.Before(s.signer.cert.NotAfter) {
		look = now // the signer has expired
	}
	if s.currentStep() == steady {
		look = s.signer.cert.NotAfter.Add(-t.Authority / 3)
	}
	if now.Before(look) {
		return s, look, nil
	}
	switch s.currentStep() {
	case steady:
		next, err := newAuthority(purpose, t.Authority, now)
		return &state{signer: s.signer, next: next, since: now}, now, err
	case introduced:
		return &state{signer: s.next, previous: s.signer.withoutKey(), since: now}, now, nil
	default:
		return &state{signer: s.signer, since: now}, now, nil
	}
}

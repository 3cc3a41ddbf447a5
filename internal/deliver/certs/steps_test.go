package certs

import (
	"bytes"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

var (
	testTimes = Times{Authority: 90 * time.Hour, Server: 10 * time.Hour, Step: 2 * time.Hour}
	start     = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// TestAdvance follows one authority from its first hour to the next one's.
func TestAdvance(t *testing.T) {
	first, err := newAuthority("test", testTimes.Authority, start)
	if err != nil {
		t.Fatal(err)
	}
	s := &state{signer: first, since: start}
	stay := func(at, until time.Duration) {
		t.Helper()
		to, look, err := nextState(s, "test", testTimes, start.Add(at))
		if err != nil || to != s || !look.Equal(start.Add(until)) {
			t.Fatalf("after %v: %s until %v, %v", at, to.currentStep(), look.Sub(start), err)
		}
	}
	move := func(at time.Duration, want step) {
		t.Helper()
		to, _, err := nextState(s, "test", testTimes, start.Add(at))
		if err != nil || to == s || to.currentStep() != want || !to.since.Equal(start.Add(at)) {
			t.Fatalf("after %v: %s since %v, %v", at, to.currentStep(), to.since.Sub(start), err)
		}
		s = to
	}
	const hour = time.Hour
	stay(0, 60*hour)
	stay(60*hour-1, 60*hour)
	move(61*hour, introduced)
	if s.signer != first || s.next == nil {
		t.Fatal("when it is introduced, the old one signs")
	}
	second := s.next
	stay(61*hour, 63*hour)
	move(63*hour, switched)
	if s.signer != second || !s.previous.cert.Equal(first.cert) || s.previous.key != nil {
		t.Fatal("when it is switched, the new one signs, and the old one's key is gone")
	}
	stay(64*hour, 65*hour)
	move(65*hour, steady)
	if s.signer != second || s.previous != nil || s.next != nil {
		t.Fatal("the old one is not dropped")
	}
	stay(66*hour, 121*hour)

	// Nobody was there to rotate it: there is no use in waiting.
	s = &state{signer: first, since: start}
	move(100*hour, introduced)
	move(100*hour, switched)
	stay(100*hour, 102*hour)
}

func TestSecretKeepsTheState(t *testing.T) {
	first, err := newAuthority("test", testTimes.Authority, start)
	if err != nil {
		t.Fatal(err)
	}
	s := &state{signer: first, since: start}
	for _, want := range []step{steady, introduced, switched} {
		data, err := encodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		read, err := decodeState(data)
		if err != nil {
			t.Fatal(err)
		}
		again, err := encodeState(read)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != len(data) || read.currentStep() != want {
			t.Errorf("%s is read as %s", want, read.currentStep())
		}
		for entry, text := range data {
			if !bytes.Equal(text, again[entry]) {
				t.Errorf("%s changes from\n%sto\n%s", entry, text, again[entry])
			}
			broken := map[string][]byte{}
			for k, v := range data {
				broken[k] = v
			}
			broken[entry] = []byte("nonsense")
			if _, err := decodeState(broken); err == nil {
				t.Errorf("%s: nonsense is taken", entry)
			}
		}
		due := s.since.Add(testTimes.Step)
		if want == steady {
			due = start.Add(testTimes.Authority)
		}
		if s, _, err = nextState(s, "test", testTimes, due); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConfig(t *testing.T) {
	if _, err := New(Config{REST: &rest.Config{}}); err == nil {
		t.Error("a Config without a Secret is taken")
	}
	if _, err := New(Config{Namespace: "n", Name: "n", DNSNames: []string{"n"},
		Times: Times{Authority: 6, Server: 1, Step: 1}}); err == nil {
		t.Error("steps that do not fit are taken")
	}
}

// TestKeyStays: what secrets of the proxies are derived from is the same in all steps, and is made for the Secret of a
// version that had none.
func TestKeyStays(t *testing.T) {
	a := &Authority{cfg: Config{Times: testTimes}}
	first, _, err := a.desiredState(nil, start)
	if err != nil || len(first.key) != 32 {
		t.Fatalf("%v: a key of %d bytes", err, len(first.key))
	}
	s, turns := first, 0
	for at := start; turns < 4; at = at.Add(time.Hour) {
		data, err := encodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := decodeState(data)
		if err != nil {
			t.Fatal(err)
		}
		if s, _, err = a.desiredState(stored, at); err != nil || !bytes.Equal(s.key, first.key) {
			t.Fatalf("%v: after %v the key is another one", err, at.Sub(start))
		}
		if s != stored {
			turns++
		}
	}
	former := &state{signer: first.signer, since: start}
	with, _, err := a.desiredState(former, start)
	if err != nil || with == former || len(with.key) != 32 || bytes.Equal(with.key, first.key) {
		t.Errorf("%v: a Secret without a key gets %x", err, with.key)
	}
}

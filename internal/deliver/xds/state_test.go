package xds

import (
	"fmt"
	"slices"
	"testing"
)

// The transitions that the package comment draws; to stay in a state is always allowed.
var (
	resourceTransitions = map[resourceState][]resourceState{
		serving:   {onTrial, replacing, rejected},
		onTrial:   {serving, replacing, rejected},
		replacing: {serving},
		rejected:  {serving, replacing},
	}
	proxyTransitions = map[proxyState][]proxyState{
		accepted: {pending},
		pending:  {sent, accepted, refused, unbound},
		sent:     {accepted, pending, refused, unbound},
		refused:  {pending, sent, accepted},
		unbound:  {pending, accepted},
	}
)

// watchTransitions fails a process in which a state is left for one that it does not lead to.
func watchTransitions() {
	transitionHooks.resource = func(from, to resourceState) {
		if from != to && !slices.Contains(resourceTransitions[from], to) {
			panic(fmt.Sprintf("resource: state %d after %d", to, from))
		}
	}
	transitionHooks.proxy = func(from, to proxyState) {
		if from != to && !slices.Contains(proxyTransitions[from], to) {
			panic(fmt.Sprintf("proxy: state %d after %d", to, from))
		}
	}
}

// checkStates holds what is known of each resource, and of each proxy's part in it, against the state that it is in.
func checkStates(t *testing.T, s *gatewaySet) {
	t.Helper()
	for e := range s.allEntries() {
		_, suspended := s.suspended[e]
		if suspended != (e.state != serving) {
			t.Fatalf("%v: state %d, suspended %v", e.name, e.state, suspended)
		}
		if hasRefusal := e.state == onTrial || e.state == rejected; hasRefusal != (e.refusal != nil) {
			t.Fatalf("%v: state %d, refusal %v", e.name, e.state, e.refusal)
		}
		inTrial := slices.Contains(s.queue, e) || s.trial != nil && slices.Contains(s.trial.resources, e)
		if inTrial != (e.state == onTrial) {
			t.Fatalf("%v: state %d, in a trial: %v", e.name, e.state, inTrial)
		}
		if e.state == replacing && !s.isUnreplaced(e) {
			t.Fatalf("%v waits for substitutes of nothing", e.name)
		}
	}
	for st := range s.streams {
		for typ, items := range st.items {
			for name, it := range items {
				checkItem(t, st, it)
				if (it.state == pending) != (st.pending[typ][name] == it) {
					t.Fatalf("%v: state %d, to be sent: %v", it.name, it.state, it.state != pending)
				}
			}
		}
	}
}

func checkItem(t *testing.T, st *stream, it *item) {
	t.Helper()
	switch {
	case it.state != st.stateOf(it):
		t.Fatalf("%v: state %d, want %d", it.name, it.state, st.stateOf(it))
	case it.state == refused && (it.refused == nil || it.entry.state == serving):
		t.Fatalf("%v is refused, and is served", it.name)
	case it.state == unbound && (it.unbound == nil || it.bindFailures == 0):
		t.Fatalf("%v is not bound for no reason", it.name)
	case it.state == sent && len(it.sent) == 0:
		t.Fatalf("%v is sent, and nothing is in flight", it.name)
	case it.entry != nil && it.entry.state == serving && it.refused != nil:
		t.Fatalf("%v: a refusal of a resource that serves", it.name)
	}
}

package kube

import (
	"sync"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// event is something that a watch saw.
type event struct {
	what    what
	kind    model.Kind
	ref     model.ObjectRef // removed, failed: the object; answered: the one that was asked for
	object  *object         // set; answered, nil if there is none
	objects []*object       // replaced: all there are
	keys    kind.Keys       // answered: the entries that the object has
	err     error           // failed
}

type what uint8

const (
	isSet what = iota
	isRemoved
	isReplaced   // the kind was listed
	isUnreadable // the kind can't be read, and what else is there is not to wait for it
	isAnswered   // an object that is read by itself was read for the first time, or again
	isFailed     // it could not be
)

// mailbox hands events to the admitter. It is as large as need be: a watch that nobody takes from would be ended by the
// API server.
type mailbox struct {
	mu     sync.Mutex
	events []event
	wake   chan struct{} // capacity 1
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (m *mailbox) put(e event) {
	m.mu.Lock()
	m.events = append(m.events, e)
	m.mu.Unlock()
	knock(m.wake)
}

func (m *mailbox) take() []event {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}

// knock says on a channel of capacity 1 that there is something to look at.
func knock(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

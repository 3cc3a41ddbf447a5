package kube

import (
	"sync"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// event is something that a watch saw.
type event struct {
	action     eventType
	objectKind model.Kind
	ref        model.ObjectRef // removed, failed: the object; answered: the one that was asked for
	object     *object         // set; answered, nil if there is none
	objects    []*object       // replaced: all there are
	keys       kind.DataKeys   // answered: the entries that the object has
	err        error           // failed
}

type eventType uint8

const (
	isSet eventType = iota
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

func (m *mailbox) putEvent(e event) {
	m.mu.Lock()
	m.events = append(m.events, e)
	m.mu.Unlock()
	signalChannel(m.wake)
}

func (m *mailbox) takeEvents() []event {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.events
	m.events = nil
	return events
}

// signalChannel says on a channel of capacity 1 that there is something to look at.
func signalChannel(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

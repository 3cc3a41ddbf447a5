package store

import "sync"

// hints wakes the readers that wait for changes. A hint says that there may be something, not what: the reader looks.
type hints struct {
	mu   sync.Mutex
	next chan struct{}
}

// nextHint is a channel that is closed with the next hint. Take it before reading: then no hint is missed.
func (h *hints) nextHint() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next == nil {
		h.next = make(chan struct{})
	}
	return h.next
}

func (h *hints) sendHint() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.next != nil {
		close(h.next)
		h.next = nil
	}
}

package kubelet

import "sync"

// bell notifies any number of goroutines of a change.
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

// heard returns a channel that is closed at the next ring. Take it before you read what may change.
func (b *bell) heard() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = make(chan struct{})
	}
	return b.next
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next != nil {
		close(b.next)
		b.next = nil
	}
}

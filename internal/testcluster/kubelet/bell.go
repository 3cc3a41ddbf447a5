package kubelet

import "sync"

// bell tells any number of goroutines that something has changed.
type bell struct {
	mu   sync.Mutex
	next chan struct{}
}

// heard is closed at the next ring. Take it before looking at what may change.
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

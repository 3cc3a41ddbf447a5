package kubelet

import "sync"

// notifier notifies any number of goroutines of a change.
type notifier struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns a channel that is closed at the next notify. Take it before you read what may change.
func (n *notifier) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

func (n *notifier) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

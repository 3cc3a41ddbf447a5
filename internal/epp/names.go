package epp

import "sync"

// labelLimiter bounds how many values a label has. The first ones keep their names; the rest is "other".
type labelLimiter struct {
	most int

	mu   sync.Mutex
	seen map[string]bool
}

func newLabelLimiter(most int) *labelLimiter {
	return &labelLimiter{most: most, seen: map[string]bool{}}
}

func (n *labelLimiter) labelFor(name string) string {
	if len(name) > 100 {
		return "other"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.seen[name] {
		if len(n.seen) >= n.most {
			return "other"
		}
		n.seen[name] = true
	}
	return name
}

package pickerchild

import (
	"fmt"
	"testing"
)

// TestWantedAgain: a picker that is wanted again while it ends is followed by another one, which is told the pool as it
// is by then.
func TestWantedAgain(t *testing.T) {
	r := open(t)
	llama, other := pool("llama"), pool("other")
	r.endpoints(llama, 1)
	r.want(llama)
	r.run()
	first := r.serves(llama, 0)
	r.told(llama, "10.0.0.1:1")

	r.letGo(llama)
	r.leaves(llama)
	r.want(llama)
	r.endpoints(llama, 3, 2, 3)
	r.want(other)
	r.serves(other, 0)
	r.leaves(llama) // none has begun beside it
	r.mayEnd()
	second := r.serves(llama, first)
	r.told(llama, "10.0.0.1:2 10.0.0.1:3")

	r.endpoints(llama, 4)
	r.told(llama, "10.0.0.1:4")
	if r.serves(llama, 0) != second {
		t.Error("it was started again")
	}
}

// TestWantedAgainAndNotAnyMore: a picker that is unwanted in the end is followed by none.
func TestWantedAgainAndNotAnyMore(t *testing.T) {
	r := open(t)
	llama, other, third := pool("llama"), pool("other"), pool("third")
	r.want(llama)
	r.run()
	r.serves(llama, 0)
	r.letGo(llama)
	r.leaves(llama)
	r.want(llama)
	r.want(other)
	r.serves(other, 0)
	r.letGo(llama)
	r.want(third)
	r.serves(third, 0)
	r.mayEnd()
	r.eventually(func() error { // one that follows is there at once
		r.mu.Lock()
		defer r.mu.Unlock()
		if child := r.list[llama]; child != nil {
			return fmt.Errorf("there is one; it was told to end: %v", child.leaving)
		}
		return nil
	})
}

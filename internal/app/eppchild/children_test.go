package eppchild

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
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

// TestTokenOfASecret: a picker gets the token of the Secret that its pool names, as it is, and no other one's.
func TestTokenOfASecret(t *testing.T) {
	r := open(t)
	llama, other := pool("llama"), pool("other")
	secret := func(name, entry, value string) {
		r.apply(func(b *flow.Batch) {
			r.secrets.Set(b, ref(model.KindSecret, name), input.Object[input.SecretSpec]{
				Spec: &input.SecretSpec{Data: map[string][]byte{entry: []byte(value)}},
			})
		})
	}
	token := func(pool model.ObjectRef, want string) {
		t.Helper()
		r.eventually(func() error {
			text, err := os.ReadFile(filepath.Join(r.config.Dir, folderName(pool), "token"))
			if err != nil && !os.IsNotExist(err) || string(text) != want {
				return fmt.Errorf("%s has %q, want %q (%v)", pool.Name(), text, want, err)
			}
			return nil
		})
	}
	secret("key", "value", "one")
	secret("others", "value", "another")
	secret("empty", "password", "none")
	r.apply(func(b *flow.Batch) { r.pickers.Set(b, llama, plan.PickerSpec{Token: "key"}) })
	r.want(other)
	r.run()
	r.serves(llama, 0)
	r.serves(other, 0)
	token(llama, "one")
	token(other, "")
	secret("key", "value", "two")
	token(llama, "two")
	r.apply(func(b *flow.Batch) { r.pickers.Set(b, llama, plan.PickerSpec{Token: "empty"}) })
	token(llama, "")
	secret("empty", "value", "three")
	token(llama, "three")
	r.apply(func(b *flow.Batch) { r.secrets.Delete(b, ref(model.KindSecret, "empty")) })
	token(llama, "")
	r.mayEnd()
}

package store

import (
	"testing"

	"go.uber.org/goleak"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestClose: a ledger that is closed leaves no goroutine, and ends its watches.
func TestClose(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		before := goleak.IgnoreCurrent()
		s, err := Open(t.Context(), Config{URL: url, KeyFile: keyFile})
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, edit("web", "v1"), secret("1"))
		seen, ended := make(chan int64), make(chan error)
		go func() {
			for c, err := range s.Watch(t.Context(), 0) {
				if err != nil {
					ended <- err
					return
				}
				seen <- c.Number
			}
		}()
		<-seen
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; ledger.CodeOf(err) != ledger.Unavailable {
			t.Fatalf("the watch ended with %v", err)
		}
		if err := goleak.Find(before); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("closed twice: %v", err)
		}
	})
}

package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// Questions whose caller goes away while rows are read end with an error.
func TestCanceledQuestions(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		var edits []ledger.Edit
		var live []ledger.Live
		for i := range 100 {
			e := edit(fmt.Sprint("web-", i), "v1")
			edits = append(edits, e)
			for _, gateway := range []string{"a/a", "b/b", "c/c"} {
				live = append(live, ledger.Live{Key: e.Key, Cluster: "c", Gateway: gateway, Generation: 1, Proxies: 1},
					ledger.Live{Key: e.Key, Cluster: "c", Generation: 1, Waits: "Gateway " + gateway})
			}
		}
		commit(t, s, edits...)
		if err := s.ReportAnswers(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		ended := 0
		for turns := range 500 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for range turns {
					runtime.Gosched()
				}
				cancel()
			}()
			list, err := s.Status(ctx, ledger.StatusQuery{Limit: 1000})
			if err == nil && len(list) != len(edits) {
				t.Fatalf("%d objects in place of %d", len(list), len(edits))
			}
			if _, changed := s.Changes(ctx, ledger.ChangesQuery{}); err != nil || changed != nil {
				if err := errors.Join(err, changed); !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				ended++
			}
			cancel()
		}
		if ended == 0 {
			t.Error("no question was canceled")
		}
	})
}

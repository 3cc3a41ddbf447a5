package ledgertest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// concurrent is what holds when many ask at once.
var concurrent = map[string]func(rig){
	"of 200 edits with one expected generation, one wins": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		var won atomic.Int64
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				_, err := r.Commit(r.ctx, newDraft(expectGeneration(putEdit(routeKey("web"), fmt.Sprint("w", i)), 1)))
				switch {
				case err == nil:
					won.Add(1)
				case ledger.CodeOf(err) != ledger.Stale:
					r.t.Errorf("Commit: %v", err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 || r.mustHead().Change != 2 {
			r.t.Fatalf("%d won, the head is %d", won.Load(), r.mustHead().Change)
		}
	},
	"a request that is sent at once many times makes one change": func(r rig) {
		d := newDraft(putEdit(routeKey("web"), "v1"))
		d.Request = "r-1"
		var all sync.WaitGroup
		var first atomic.Int64
		for range 50 {
			all.Go(func() {
				c, err := r.Commit(r.ctx, d)
				if err != nil || c.Number != 1 {
					r.t.Errorf("Commit = change %d, %v", c.Number, err)
				}
				if !c.Repeated {
					first.Add(1)
				}
			})
		}
		all.Wait()
		if first.Load() != 1 || r.mustHead().Change != 1 {
			r.t.Fatalf("%d were first, the head is %d", first.Load(), r.mustHead().Change)
		}
	},
	"a refused draft does not harm those that come with it": func(r rig) {
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				e := putEdit(routeKey(fmt.Sprint("web-", i)), "v1")
				if i%3 == 0 {
					e = expectGeneration(e, 5)
				}
				if _, err := r.Commit(r.ctx, newDraft(e)); (err != nil) != (i%3 == 0) {
					r.t.Errorf("Commit %d: %v", i, err)
				}
			})
		}
		all.Wait()
		if n := r.mustHead().Change; n != 40 {
			r.t.Fatalf("the head is %d, want 40", n)
		}
	},
	"a watch has every number once and in order": func(r rig) {
		const writers, each = 8, 25
		ctx, cancel := context.WithTimeout(r.ctx, waitTimeout)
		defer cancel()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				next := int64(1)
				for c, err := range r.Watch(ctx, 0) {
					if err != nil || c.Number != next {
						r.t.Errorf("the watch has %d, %v, want %d", c.Number, err, next)
						return
					}
					if next++; next > writers*each {
						return
					}
				}
				r.t.Errorf("the watch ended at %d", next)
			})
		}
		for w := range writers {
			all.Go(func() {
				for i := range each {
					if _, err := r.Commit(ctx, newDraft(putEdit(routeKey(fmt.Sprint("web-", w)), fmt.Sprint("v", i)))); err != nil {
						r.t.Errorf("Commit: %v", err)
					}
				}
			})
		}
		all.Wait()
		list := r.collectChanges(writers*each-10, 10)
		for i, c := range list {
			kept, err := r.Change(r.ctx, int64(writers*each-9+i))
			r.wantNoError(err)
			r.wantSameChange(kept, c)
		}
	},
	"a watch waits for what comes": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		got := make(chan ledger.Change)
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		go func() {
			defer close(got)
			for c, err := range r.Watch(ctx, 1) {
				if err != nil {
					r.t.Errorf("Watch: %v", err)
					return
				}
				got <- c
			}
		}()
		for n := int64(2); n < 5; n++ {
			r.mustCommit(putEdit(routeKey("web"), fmt.Sprint("v", n)))
			select {
			case c := <-got:
				if c.Number != n || len(c.Edited) != 1 {
					r.t.Fatalf("the watch has %+v", c)
				}
			case <-time.After(waitTimeout):
				r.t.Fatal("the watch has nothing")
			}
		}
		cancel()
		for range got {
		}
	},
	"a watch from above the head ends with Conflict": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		for _, err := range r.Watch(r.ctx, 7) {
			r.wantCode(err, ledger.Conflict)
			return
		}
		r.t.Fatal("the watch ended without an error")
	},
	"two claimers claim each row once": func(r rig) {
		r.addClusters("apps", "east")
		const n = 300
		var edits []ledger.Edit
		for i := range n {
			edits = append(edits, putEdit(keyIn("apps", "ConfigMap", fmt.Sprintf("web-%03d", i)), "v1"))
		}
		r.mustCommit(edits...)
		var mu sync.Mutex
		var all sync.WaitGroup
		claimed := map[string]int{}
		for w := range 4 {
			all.Go(func() {
				for {
					list, err := r.Claim(r.ctx, ledger.ClaimQuery{Cluster: "east", Worker: fmt.Sprint(w), Max: 16, Lease: time.Minute})
					if err != nil {
						r.t.Errorf("Claim: %v", err)
						return
					}
					mu.Lock()
					for _, c := range list {
						claimed[c.ID]++
					}
					done := len(claimed) >= n
					mu.Unlock()
					if done || len(list) == 0 {
						return
					}
				}
			})
		}
		all.Wait()
		for id, times := range claimed {
			if times != 1 {
				r.t.Errorf("%s was claimed %d times", id, times)
			}
		}
		rest := r.mustClaim(ledger.ClaimQuery{Cluster: "east", Worker: "last", Max: n, Lease: time.Minute})
		if len(claimed)+len(rest) != n {
			r.t.Fatalf("%d were claimed, and %d are left, of %d", len(claimed), len(rest), n)
		}
	},
}

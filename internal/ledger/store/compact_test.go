package store

import (
	"fmt"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestCompactProposals: proposals that ended long ago go, with their contents, but not before the change that one
// became. Those that wait stay.
func TestCompactProposals(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		withdraw := func(n int64) {
			t.Helper()
			if _, err := s.Withdraw(t.Context(), n, "alice", "why"); err != nil {
				t.Fatal(err)
			}
		}
		became := func(n int64) {
			t.Helper()
			if _, err := commitProposal(t.Context(), s, n); err != nil {
				t.Fatal(err)
			}
		}
		withdrawn, waits := propose(t, s, edit("withdrawn", "v1")), propose(t, s, edit("waits", "v1"))
		late, over := propose(t, s, edit("late", "v1")), propose(t, s, edit("over", "v1"))
		current := propose(t, s, edit("current", "v1"))
		withdraw(withdrawn)
		became(over)                      // change 1
		became(current)                   // 2
		commit(t, s, edit("over", "v2"))  // 3
		commit(t, s, edit("other", "v1")) // 4
		tick()
		commit(t, s, edit("other", "v2")) // 5
		withdraw(late)
		withdraw(propose(t, s, edit("newest", "v1")))
		compactBefore(t, s, 5, Retention{})
		for n, want := range map[int64]ledger.Code{withdrawn: ledger.NotFound, over: ledger.NotFound, waits: "", late: "",
			current: ""} {
			if _, err := s.Proposal(t.Context(), n); ledger.CodeOf(err) != want {
				t.Errorf("proposal %d: %v", n, err)
			}
		}
		commit(t, s, edit("other", "v3")) // 6
		tick()
		commit(t, s, edit("other", "v4")) // 7
		compactBefore(t, s, 7, Retention{})
		if _, err := s.Proposal(t.Context(), late); ledger.CodeOf(err) != ledger.NotFound {
			t.Errorf("what ended long ago is there: %v", err)
		}
		if n := propose(t, s, edit("next", "v1")); n != 7 {
			t.Errorf("the next proposal has the number %d", n)
		}
		var contents int
		err := s.readDB.QueryRowContext(t.Context(), "SELECT count(*) FROM proposal_contents").Scan(&contents)
		if err != nil || contents != 3 {
			t.Errorf("%d contents of proposals are kept, %v", contents, err)
		}
	})
}

// TestCompactManyObjects: marking goes by pages of objects, and of a page as often as it takes.
func TestCompactManyObjects(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		const versions = 4
		for v := range versions {
			var edits []ledger.Edit
			for i := range compactPage + 10 {
				edits = append(edits, edit(fmt.Sprint("o-", i), fmt.Sprint(v)))
			}
			commit(t, s, edits...)
		}
		compactBefore(t, s, 1, Retention{Generations: 1})
		var kept int
		err := s.readDB.QueryRowContext(t.Context(), "SELECT count(*) FROM generations WHERE kept = 1").Scan(&kept)
		if err != nil || kept != compactPage+10 {
			t.Errorf("%d generations are kept, %v", kept, err)
		}
		verify(t, s)
	})
}

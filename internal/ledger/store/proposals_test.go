package store

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// propose has alice propose edits, which bob approves.
func propose(t *testing.T, s *Store, edits ...ledger.Edit) int64 {
	t.Helper()
	p, err := s.Propose(t.Context(), ledger.Draft{Author: "alice", Edits: edits}, ledger.Preview{Digest: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Answer(t.Context(), p.Number, ledger.Answer{By: "bob", Approve: true}); err != nil {
		t.Fatal(err)
	}
	return p.Number
}

// proposal reads a proposal.
func proposal(t *testing.T, s *Store, number int64) ledger.Proposal {
	t.Helper()
	p, err := s.Proposal(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// commitProposal commits a proposal as it is.
func commitProposal(ctx context.Context, s *Store, number int64) (ledger.Change, error) {
	p, err := s.Proposal(ctx, number)
	if err != nil {
		return ledger.Change{}, err
	}
	p.Draft.Proposal = &ledger.Proposed{Number: number, Preview: p.Preview.Digest, By: "bob"}
	return s.Commit(ctx, p.Draft)
}

func childProposal(ctx context.Context, s *Store, number string) error {
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	c, err := commitProposal(ctx, s, n)
	if err == nil {
		fmt.Println(c.Number)
	}
	return err
}

// protect has the default target need one approval.
func protect(t *testing.T, s *Store) {
	t.Helper()
	target := ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Proxies, Approvals: 1}
	if err := s.SetTarget(t.Context(), target, "alice"); err != nil {
		t.Fatal(err)
	}
}

// TestKilledWhileCommittingProposal kills a process at each step of the commit of a proposal: it is committed, and the
// change is there, or neither. It is committed once.
func TestKilledWhileCommittingProposal(t *testing.T) {
	kept := map[string]bool{"before-write": false, "before-commit": false, "after-commit": true, "before-answer": true}
	databases(t, func(t *testing.T, url, keyFile string) {
		if _, err := os.Stat(keyFile); err != nil {
			if err := makeKeyFile(keyFile); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, Config{URL: url, KeyFile: keyFile})
		protect(t, s)
		for point, want := range kept {
			n := propose(t, s, edit("web", point), edit("api", point), secret(point))
			before := headOf(t, s).Change
			cmd, lines := startChild(t, fmt.Sprintf("proposal %s %s %d", url, keyFile, n), point)
			if printed := collect(cmd, lines); len(printed) != 0 {
				t.Fatalf("%s: it was acknowledged: %v", point, printed)
			}
			wantKilled(t, cmd)
			until(t, "the dead process's transaction is over", func() bool {
				return (headOf(t, s).Change > before) == want
			})
			p := proposal(t, s, n)
			if (p.State == ledger.Done) != want || want && p.Change != before+1 {
				t.Fatalf("%s: the proposal is %s (change %d), the head %d", point, p.State, p.Change, headOf(t, s).Change)
			}
			c, err := commitProposal(t.Context(), s, n)
			if want && ledger.CodeOf(err) != ledger.Conflict || !want && (err != nil || len(c.Edited) != 3) {
				t.Fatalf("%s: committed again, it is %+v, %v", point, c, err)
			}
			if head := headOf(t, s).Change; head != before+1 {
				t.Fatalf("%s: the head is %d, was %d", point, head, before)
			}
		}
		verify(t, s)
	})
}

// TestProposalSealed: no file has a proposed Secret's text, its key can be replaced, and it goes when the proposal
// ends.
func TestProposalSealed(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "ledger.db")
	s := openFile(t, path)
	protect(t, s)
	rejected, withdrawn := propose(t, s, secret("1"), edit("web", "a")), propose(t, s, secret("2"))
	committed := propose(t, s, secret("3"), edit("web", "b"))
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(password)) {
			t.Errorf("%s has the password", f.Name())
		}
	}
	if got := proposal(t, s, rejected).Draft.Edits; !bytes.Equal(got[0].Content, secret("1").Content) {
		t.Fatalf("the draft is %+v", got)
	}

	// Another key, and the old one goes.
	old, err := os.ReadFile(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	fresh := "2:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, keySize)) + "\n"
	for _, text := range []string{fresh + string(old), fresh} {
		if err := os.WriteFile(path+".key", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s = openFile(t, path)
		if err := s.Reseal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := commitProposal(t.Context(), s, committed); err != nil || len(c.Edited) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	if _, err := s.Answer(t.Context(), rejected, ledger.Answer{By: "bob", Words: "no"}); err != nil {
		t.Fatal(err)
	}
	// Nobody needs to open what is withdrawn.
	if err := os.Rename(path+".key", path+".lost"); err != nil {
		t.Fatal(err)
	}
	s = openFile(t, path)
	if _, err := s.Withdraw(t.Context(), withdrawn, "alice", ""); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int64]int{rejected: 1, withdrawn: 0, committed: 0} {
		contents := 0
		for _, e := range proposal(t, s, number).Draft.Edits {
			if len(e.Content) > 0 {
				contents++
			}
		}
		if contents != want {
			t.Errorf("proposal %d has %d contents, want %d", number, contents, want)
		}
	}
}

// TestProposalSurvives: a proposal and its answers are there when the ledger is opened again, and its contents are what
// they were to the byte, however they are written.
func TestProposalSurvives(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		protect(t, s)
		odd := ledger.Edit{Key: edit("odd", "").Key, Content: ledger.Content("{ \"data\": {\"a\": \"<&>\\u003c\u00e9\"} }")}
		n := propose(t, s, odd)
		s = open(t, Config{URL: url, KeyFile: keyFile})
		p := proposal(t, s, n)
		if !bytes.Equal(p.Draft.Edits[0].Content, odd.Content) || p.State != ledger.Approved || len(p.Answers) != 1 {
			t.Fatalf("%+v", p)
		}
		if _, err := commitProposal(t.Context(), s, n); err != nil {
			t.Fatal(err)
		}
	})
}

// TestProposalOfAnotherDraft: nobody commits something else in the name of an approved proposal.
func TestProposalOfAnotherDraft(t *testing.T) {
	databases(t, func(t *testing.T, url, keyFile string) {
		s := open(t, Config{URL: url, KeyFile: keyFile})
		protect(t, s)
		n := propose(t, s, edit("web", "a"))
		real := proposal(t, s, n).Draft
		real.Proposal = &ledger.Proposed{Number: n, Preview: "d", By: "bob"}
		for name, change := range map[string]func(*ledger.Draft){
			"another content": func(d *ledger.Draft) { d.Edits = []ledger.Edit{edit("web", "z")} },
			"one edit more":   func(d *ledger.Draft) { d.Edits = append(d.Edits[:1:1], edit("api", "a")) },
			"a deletion":      func(d *ledger.Draft) { d.Edits = []ledger.Edit{{Key: edit("web", "").Key, Delete: true}} },
			"another author":  func(d *ledger.Draft) { d.Author = "mallory" },
			"another message": func(d *ledger.Draft) { d.Message = "nothing to see" },
			"another preview": func(d *ledger.Draft) { d.Proposal = &ledger.Proposed{Number: n, Preview: "e"} },
			"another head":    func(d *ledger.Draft) { d.Head = 7 },
		} {
			d := real
			change(&d)
			if c, err := s.Commit(t.Context(), d); ledger.CodeOf(err) != ledger.Conflict {
				t.Errorf("%s: %+v, %v", name, c, err)
			}
		}
		if _, err := s.Commit(t.Context(), real); err != nil {
			t.Fatal(err)
		}
	})
}

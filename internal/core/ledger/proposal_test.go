package ledger

import (
	"strings"
	"testing"
	"time"
)

// proposed is alice's proposal that needs two approvals.
func proposed() Proposal {
	p := Proposal{Number: 7, By: "alice", Round: 1, Needed: 2, Preview: Preview{Digest: "d1"}}
	p.State = p.DeriveState()
	return p
}

func yes(by string) Answer { return Answer{By: by, Approve: true} }
func no(by string) Answer  { return Answer{By: by, Words: "not on a Friday"} }

// answered is a proposal with answers, none of which may be refused.
func answered(t *testing.T, p Proposal, answers ...Answer) Proposal {
	t.Helper()
	for _, a := range answers {
		var err error
		if p, err = p.WithAnswer(a); err != nil {
			t.Fatalf("%s: %v", a.By, err)
		}
	}
	return p
}

func isState(t *testing.T, p Proposal, want ProposalState) {
	t.Helper()
	if p.State != want || p.DeriveState() != want {
		t.Fatalf("the proposal is %s (%s), want %s", p.State, p.DeriveState(), want)
	}
}

func refusedWith(t *testing.T, err error, code Code, words string) {
	t.Helper()
	if CodeOf(err) != code || !strings.Contains(err.Error(), words) {
		t.Fatalf("the error is %v, want %s with %q", err, code, words)
	}
}

func TestProposalApprovals(t *testing.T) {
	p := proposed()
	isState(t, p, Open)
	p = answered(t, p, yes("bob"))
	isState(t, p, Open)
	p = answered(t, p, yes("bob"), yes("bob"))
	isState(t, p, Open) // one person counts once
	if p.CountApprovals() != 1 || len(p.Answers) != 3 {
		t.Fatalf("%d approvals of %d answers", p.CountApprovals(), len(p.Answers))
	}
	isState(t, answered(t, p, yes("carol")), Approved)
}

func TestProposalNeverTheAuthor(t *testing.T) {
	_, err := proposed().WithAnswer(yes("alice"))
	refusedWith(t, err, Denied, "alice proposed it, so alice can't approve it")
	_, err = proposed().WithAnswer(no("alice"))
	refusedWith(t, err, Denied, "withdraw it")
	_, err = proposed().WithAnswer(yes(""))
	refusedWith(t, err, Invalid, "no author")

	// Also if an answer of the author got in some other way, it does not count.
	p := answered(t, proposed(), yes("bob"))
	p.Answers = append(p.Answers, Answer{By: "alice", Approve: true, Round: 1})
	if p.DeriveState() != Open {
		t.Fatal("the author's answer counts")
	}
}

func TestProposalRejection(t *testing.T) {
	_, err := proposed().WithAnswer(Answer{By: "bob"})
	refusedWith(t, err, Invalid, "no reason")
	p := answered(t, proposed(), yes("bob"), yes("carol"), no("dave"))
	isState(t, p, Rejected) // also an approved one
	_, err = p.WithAnswer(yes("erin"))
	refusedWith(t, err, Conflict, "was rejected by dave: not on a Friday")
	_, err = p.WithCommit(9, Proposed{Preview: "d1"}, time.Time{})
	refusedWith(t, err, Conflict, "rejected")
	_, err = p.WithPreview(Preview{Digest: "d2"})
	refusedWith(t, err, Conflict, "rejected")
}

func TestProposalAnswersWhatWasSeen(t *testing.T) {
	a := yes("bob")
	a.Preview = "d0"
	_, err := proposed().WithAnswer(a)
	refusedWith(t, err, Conflict, "has changed since the preview")
	a.Preview = "d1"
	if p := answered(t, proposed(), a); p.Answers[0].Preview != "" || p.Answers[0].Round != 1 {
		t.Fatalf("kept as %+v", p.Answers[0])
	}
}

func TestProposalOutdated(t *testing.T) {
	p := answered(t, proposed(), yes("bob"), yes("carol"))
	same, err := p.WithPreview(Preview{Digest: "d1", Head: 12})
	if err != nil || same.Base != 12 {
		t.Fatalf("%+v, %v", same, err)
	}
	isState(t, same, Approved) // the same outcome at a later change
	p, err = same.WithPreview(Preview{Digest: "d2", Head: 13})
	if err != nil {
		t.Fatal(err)
	}
	isState(t, p, Outdated)
	if p.Number != 7 || len(p.Answers) != 2 || p.CountApprovals() != 0 {
		t.Fatalf("%+v", p)
	}
	_, err = p.WithCommit(14, Proposed{Preview: "d2"}, time.Time{})
	refusedWith(t, err, Conflict, "0 of 2 approvals")
	p = answered(t, p, yes("bob"))
	isState(t, p, Outdated)
	back, err := p.WithPreview(Preview{Digest: "d1"})
	if err != nil {
		t.Fatal(err)
	}
	isState(t, back, Outdated) // what was approved before does not count again
	p = answered(t, p, yes("carol"))
	isState(t, p, Approved)
	_, err = p.WithCommit(14, Proposed{Preview: "d1"}, time.Time{})
	refusedWith(t, err, Conflict, "a newer preview")
}

func TestProposalCommittedOnce(t *testing.T) {
	p := answered(t, proposed(), yes("bob"), yes("carol"))
	p, err := p.WithCommit(5, Proposed{Preview: "d1", By: "bob"}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	isState(t, p, Done)
	_, err = p.WithCommit(6, Proposed{Preview: "d1"}, time.Time{})
	refusedWith(t, err, Conflict, "as change 5")
	_, err = p.WithWithdrawal("alice", "", time.Time{})
	refusedWith(t, err, Conflict, "as change 5")
}

func TestProposalWithdrawn(t *testing.T) {
	_, err := proposed().WithWithdrawal("bob", "", time.Time{})
	refusedWith(t, err, Denied, "alice")
	p, err := proposed().WithWithdrawal("alice", "not needed", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	isState(t, p, Withdrawn)
	_, err = p.WithAnswer(yes("bob"))
	refusedWith(t, err, Conflict, "withdrawn by alice")
}

// TestProposalNeedsNone: what needs no approvals is approved from the start, also after its preview became another one.
func TestProposalNeedsNone(t *testing.T) {
	p := proposed()
	p.Needed = 0
	p.State = p.DeriveState()
	isState(t, p, Approved)
	p, err := p.WithPreview(Preview{Digest: "d2"})
	if err != nil {
		t.Fatal(err)
	}
	isState(t, p, Approved)
}

func TestApprovalsFor(t *testing.T) {
	targets := []Target{{Name: DefaultTarget, Approvals: 1}, {Name: "prod", Approvals: 3}, {Name: "dev"}}
	for want, names := range map[int][]string{0: {"dev"}, 1: {"dev", ""}, 3: {"dev", "prod", ""}} {
		var d Draft
		for _, name := range names {
			d.Edits = append(d.Edits, Edit{Key: Key{Target: name, Kind: "Service", Name: "x"}})
		}
		if got := ApprovalsFor(d, targets); got != want {
			t.Errorf("a draft of %q needs %d approvals, want %d", names, got, want)
		}
	}
}

package ledger

import (
	"context"
	"fmt"
	"time"
)

// Proposals keeps drafts that others are to approve before they are changes.
//
//	Propose --> Open --enough approvals--> Approved --Commit with Draft.Proposal--> Committed
//	              |                           |
//	              |<-----approvals anew-- Outdated <--Repreview, if the outcome is another one
//	              '--> Rejected, Withdrawn
//
// Committing a proposal and marking it is one transaction: it is committed once, however often that is asked.
type Proposals interface {
	// Propose keeps a draft with its preview. Its author is d.Author. A draft that could not be committed is refused as
	// Commit refuses it, and one that changes nothing is Invalid. A draft with a Request is one proposal however often it
	// is sent. Over HTTP the server makes the preview.
	Propose(ctx context.Context, d Draft, p Preview) (Proposal, error)
	// Proposal is one proposal, with its draft and preview; NotFound.
	Proposal(ctx context.Context, number int64) (Proposal, error)
	// Proposals lists proposals, the newest first, without contents and previews.
	Proposals(ctx context.Context, q ProposalsQuery) (ProposalsPage, error)
	// Answer approves or rejects a proposal. See Proposal.Answered for what it refuses. This and the methods below answer
	// the proposal as lists have it.
	Answer(ctx context.Context, number int64, a Answer) (Proposal, error)
	// Withdraw ends a proposal for its author. See Proposal.Withdrawn for what it refuses.
	Withdraw(ctx context.Context, number int64, by, why string) (Proposal, error)
	// Repreview gives a proposal the preview that it has by now. If that is another one, approvals are needed anew. Over
	// HTTP the server makes the preview.
	Repreview(ctx context.Context, number int64, p Preview) (Proposal, error)
}

// Verdict is how far a proposal got.
type Verdict string

// The verdicts.
const (
	Open      Verdict = "Open"      // it waits for approvals
	Approved  Verdict = "Approved"  // it can be committed
	Outdated  Verdict = "Outdated"  // it does something else than what was answered: it waits for approvals anew
	Done      Verdict = "Committed" // it is a change
	Rejected  Verdict = "Rejected"  // somebody rejected it
	Withdrawn Verdict = "Withdrawn" // its author took it back
)

// Verdicts are all of them.
var Verdicts = []Verdict{Open, Approved, Outdated, Done, Rejected, Withdrawn}

// Proposal is a draft that others are to approve.
type Proposal struct {
	Number  int64     `json:"number"`
	State   Verdict   `json:"state"` // follows from all else
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Message string    `json:"message,omitempty"`
	Draft   Draft     `json:"draft"`
	Preview Preview   `json:"preview"`
	// Base is the newest change when the preview was made.
	Base int64 `json:"base"`
	// Round counts the previews that were another one than the preview before. Answers of other rounds do not count.
	Round   int      `json:"round"`
	Answers []Answer `json:"answers,omitempty"` // oldest first, those that do not count any more, too
	Needed  int      `json:"needed"`            // approvals
	Change  int64    `json:"change,omitempty"`  // that it was committed as
	Ended   *Ended   `json:"ended,omitempty"`   // nil: it waits
}

// Answer is what somebody says to a proposal.
type Answer struct {
	By      string    `json:"by"`
	At      time.Time `json:"at"` // by the database's clock
	Approve bool      `json:"approve"`
	Words   string    `json:"words,omitempty"`
	Round   int       `json:"round"` // of the proposal
	// Preview, if not "", is the digest of the preview that the answer is about: it is refused if the proposal has
	// another one by now (Conflict). Not kept.
	Preview string `json:"-"`
}

// Ended is who ended a proposal.
type Ended struct {
	State Verdict   `json:"state"` // Done, Rejected or Withdrawn
	By    string    `json:"by"`
	At    time.Time `json:"at"`
	Words string    `json:"words,omitempty"`
}

// Proposed makes a draft the commit of a proposal.
type Proposed struct {
	Number  int64  `json:"number"`
	Preview string `json:"preview"`      // the digest of the preview that the commit is bound to
	By      string `json:"by,omitempty"` // who commits it
}

// ProposalsQuery selects proposals; zero fields select all.
type ProposalsQuery struct {
	Page           // After: lists older ones than this
	State  Verdict //
	Change int64   // that was committed as this change
}

// ProposalsPage is a page of proposals.
type ProposalsPage struct {
	Proposals []Proposal `json:"proposals"` // the newest first
	More      bool       `json:"more,omitempty"`
}

// Approvals counts how many people stand behind the proposal as it is: of each person's answers in this round, the last
// one counts.
func (p Proposal) Approvals() int {
	last := map[string]bool{}
	for _, a := range p.Answers {
		if a.Round == p.Round && a.By != p.By {
			last[a.By] = a.Approve
		}
	}
	n := 0
	for _, approves := range last {
		if approves {
			n++
		}
	}
	return n
}

// Standing is the state that follows from all else.
func (p Proposal) Standing() Verdict {
	switch {
	case p.Ended != nil:
		return p.Ended.State
	case p.Approvals() >= p.Needed:
		return Approved
	case p.Round > 1:
		return Outdated
	}
	return Open
}

// Answered is the proposal with an answer. The author's is refused (Denied), and any to a proposal that ended or that
// has another preview than the answer is about (Conflict). A rejection ends it.
func (p Proposal) Answered(a Answer) (Proposal, error) {
	switch {
	case a.By == "":
		return p, p.Refuse(Invalid, "an answer has no author", "say who answers")
	case p.Ended != nil:
		return p, p.over()
	case a.By == p.By && a.Approve:
		return p, p.Refuse(Denied, "nobody approves what they proposed: "+p.By+" did", "have somebody else approve it")
	case a.By == p.By:
		return p, p.Refuse(Denied, "nobody rejects what they proposed: "+p.By+" did", "withdraw it")
	case !a.Approve && a.Words == "":
		return p, p.Refuse(Invalid, "a rejection has no reason", "say why, for who proposed it")
	case a.Preview != "" && a.Preview != p.Preview.Digest:
		return p, p.Refuse(Conflict, "does something else by now than the preview that the answer is about",
			"look at its preview as it is now, and answer that")
	}
	a.Round, a.Preview = p.Round, ""
	p.Answers = append(p.Answers[:len(p.Answers):len(p.Answers)], a)
	if !a.Approve {
		p.Ended = &Ended{State: Rejected, By: a.By, At: a.At, Words: a.Words}
	}
	p.State = p.Standing()
	return p, nil
}

// Withdrawn is the proposal after its author took it back. Others are refused (Denied).
func (p Proposal) Withdrawn(by, why string, at time.Time) (Proposal, error) {
	switch {
	case p.Ended != nil:
		return p, p.over()
	case by != p.By:
		return p, p.Refuse(Denied, "only "+p.By+", who proposed it, withdraws it", "reject it")
	}
	p.Ended = &Ended{State: Withdrawn, By: by, At: at, Words: why}
	p.State = p.Standing()
	return p, nil
}

// Repreviewed is the proposal with the preview that it has by now. With another digest than before, a round begins.
func (p Proposal) Repreviewed(now Preview) (Proposal, error) {
	if p.Ended != nil {
		return p, p.over()
	}
	if now.Digest != p.Preview.Digest {
		p.Round++
	}
	p.Preview, p.Base = now, now.Head
	p.State = p.Standing()
	return p, nil
}

// CommittedAs is the proposal after it was committed. It is refused (Conflict) unless it is approved as the draft's
// preview says.
func (p Proposal) CommittedAs(change int64, of Proposed, at time.Time) (Proposal, error) {
	switch {
	case p.Ended != nil:
		return p, p.over()
	case of.Preview != p.Preview.Digest:
		return p, p.Refuse(Conflict, "has another preview by now than the commit is bound to", "look at it as it is now")
	case p.Standing() != Approved:
		return p, p.Refuse(Conflict, fmt.Sprintf("has %d of %d approvals", p.Approvals(), p.Needed),
			fmt.Sprintf("have somebody else than %s approve it: cardea ledger approve %d", p.By, p.Number))
	}
	p.Change, p.Ended = change, &Ended{State: Done, By: of.By, At: at}
	p.State = p.Standing()
	return p, nil
}

// over refuses what comes after the end.
func (p Proposal) over() error {
	switch p.Ended.State {
	case Done:
		err := p.Refuse(Conflict, fmt.Sprintf("was committed already, as change %d", p.Change), "propose another change")
		err.Later = []int64{p.Change}
		return err
	case Rejected:
		return p.Refuse(Conflict, "was rejected by "+p.Ended.By+": "+p.Ended.Words,
			"propose it again, with what was asked for")
	}
	return p.Refuse(Conflict, "was withdrawn by "+p.Ended.By, "propose it again")
}

// Refuse is an error about the proposal.
func (p Proposal) Refuse(code Code, message, fix string) *Error {
	return &Error{Code: code, Object: fmt.Sprintf("proposal %d", p.Number), Message: message, Fix: fix}
}

// ApprovalsFor is how many approvals a draft needs: as many as that of its targets that needs most.
func ApprovalsFor(d Draft, targets []Target) int {
	needed := map[string]int{}
	for _, t := range targets {
		needed[t.Name] = t.Approvals
	}
	most := 0
	for _, e := range d.Edits {
		target := e.Target
		if target == "" {
			target = DefaultTarget
		}
		most = max(most, needed[target])
	}
	return most
}

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
	// Answer approves or rejects a proposal. See Proposal.WithAnswer for what it refuses. This and the methods below
	// answer the proposal as lists have it.
	Answer(ctx context.Context, number int64, a Answer) (Proposal, error)
	// Withdraw ends a proposal for its author. See Proposal.WithWithdrawal for what it refuses.
	Withdraw(ctx context.Context, number int64, by, why string) (Proposal, error)
	// Repreview gives a proposal the preview that it has by now. If that is another one, approvals are needed again. Over
	// HTTP the server makes the preview.
	Repreview(ctx context.Context, number int64, p Preview) (Proposal, error)
}

// ProposalState is how far a proposal got.
type ProposalState string

// The states.
const (
	Open      ProposalState = "Open"      // it waits for approvals
	Approved  ProposalState = "Approved"  // it can be committed
	Outdated  ProposalState = "Outdated"  // its preview has changed since it was answered: it waits for approvals again
	Done      ProposalState = "Committed" // it is a change
	Rejected  ProposalState = "Rejected"  // somebody rejected it
	Withdrawn ProposalState = "Withdrawn" // its author took it back
)

// ProposalStates are all of them.
var ProposalStates = []ProposalState{Open, Approved, Outdated, Done, Rejected, Withdrawn}

// Proposal is a draft that others are to approve.
type Proposal struct {
	Number  int64         `json:"number"`
	State   ProposalState `json:"state"` // follows from all else
	By      string        `json:"by"`
	At      time.Time     `json:"at"`
	Message string        `json:"message,omitempty"`
	Draft   Draft         `json:"draft"`
	Preview Preview       `json:"preview"`
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
	State ProposalState `json:"state"` // Done, Rejected or Withdrawn
	By    string        `json:"by"`
	At    time.Time     `json:"at"`
	Words string        `json:"words,omitempty"`
}

// Proposed makes a draft the commit of a proposal.
type Proposed struct {
	Number  int64  `json:"number"`
	Preview string `json:"preview"`      // the digest of the preview that the commit is bound to
	By      string `json:"by,omitempty"` // who commits it
}

// ProposalsQuery selects proposals; zero fields select all.
type ProposalsQuery struct {
	Page                 // After: lists older ones than this
	State  ProposalState //
	Change int64         // that was committed as this change
}

// ProposalsPage is a page of proposals.
type ProposalsPage struct {
	Proposals []Proposal `json:"proposals"` // the newest first
	More      bool       `json:"more,omitempty"`
}

// CountApprovals counts how many people stand behind the proposal as it is: of each person's answers in this round, the
// last one counts.
func (p Proposal) CountApprovals() int {
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

// DeriveState is the state that follows from all else.
func (p Proposal) DeriveState() ProposalState {
	switch {
	case p.Ended != nil:
		return p.Ended.State
	case p.CountApprovals() >= p.Needed:
		return Approved
	case p.Round > 1:
		return Outdated
	}
	return Open
}

// WithAnswer is the proposal with an answer. The author's is refused (Denied), and any to a proposal that ended or that
// has another preview than the answer is about (Conflict). A rejection ends it.
func (p Proposal) WithAnswer(a Answer) (Proposal, error) {
	switch {
	case a.By == "":
		return p, p.NewError(Invalid, "an answer has no author", "say who answers")
	case p.Ended != nil:
		return p, p.refuseEnded()
	case a.By == p.By && a.Approve:
		return p, p.NewError(Denied, p.By+" proposed it, so "+p.By+" can't approve it",
			"another person must approve it")
	case a.By == p.By:
		return p, p.NewError(Denied, p.By+" proposed it, so "+p.By+" can't reject it", "withdraw it")
	case !a.Approve && a.Words == "":
		return p, p.NewError(Invalid, "a rejection has no reason", "state a reason for the author of the proposal")
	case a.Preview != "" && a.Preview != p.Preview.Digest:
		return p, p.NewError(Conflict, "has changed since the preview that the answer is about",
			"look at its current preview, and answer that")
	}
	a.Round, a.Preview = p.Round, ""
	p.Answers = append(p.Answers[:len(p.Answers):len(p.Answers)], a)
	if !a.Approve {
		p.Ended = &Ended{State: Rejected, By: a.By, At: a.At, Words: a.Words}
	}
	p.State = p.DeriveState()
	return p, nil
}

// WithWithdrawal is the proposal after its author took it back. Others are refused (Denied).
func (p Proposal) WithWithdrawal(by, why string, at time.Time) (Proposal, error) {
	switch {
	case p.Ended != nil:
		return p, p.refuseEnded()
	case by != p.By:
		return p, p.NewError(Denied, "only "+p.By+", who proposed it, can withdraw it", "reject it")
	}
	p.Ended = &Ended{State: Withdrawn, By: by, At: at, Words: why}
	p.State = p.DeriveState()
	return p, nil
}

// WithPreview is the proposal with the preview that it has by now. With another digest than before, a round begins.
func (p Proposal) WithPreview(now Preview) (Proposal, error) {
	if p.Ended != nil {
		return p, p.refuseEnded()
	}
	if now.Digest != p.Preview.Digest {
		p.Round++
	}
	p.Preview, p.Base = now, now.Head
	p.State = p.DeriveState()
	return p, nil
}

// WithCommit is the proposal after it was committed. It is refused (Conflict) unless it is approved as the draft's
// preview says.
func (p Proposal) WithCommit(change int64, of Proposed, at time.Time) (Proposal, error) {
	switch {
	case p.Ended != nil:
		return p, p.refuseEnded()
	case of.Preview != p.Preview.Digest:
		return p, p.NewError(Conflict, "has a newer preview than the one that the commit is bound to",
			"look at its current preview")
	case p.DeriveState() != Approved:
		return p, p.NewError(Conflict, fmt.Sprintf("has %d of %d approvals", p.CountApprovals(), p.Needed),
			fmt.Sprintf("someone other than %s must approve it: cardea ledger approve %d", p.By, p.Number))
	}
	p.Change, p.Ended = change, &Ended{State: Done, By: of.By, At: at}
	p.State = p.DeriveState()
	return p, nil
}

// refuseEnded refuses what comes after the end.
func (p Proposal) refuseEnded() error {
	switch p.Ended.State {
	case Done:
		err := p.NewError(Conflict, fmt.Sprintf("was committed already, as change %d", p.Change), "propose another change")
		err.Later = []int64{p.Change}
		return err
	case Rejected:
		return p.NewError(Conflict, "was rejected by "+p.Ended.By+": "+p.Ended.Words,
			"propose it again, with what was asked for")
	}
	return p.NewError(Conflict, "was withdrawn by "+p.Ended.By, "propose it again")
}

// NewError is an error about the proposal.
func (p Proposal) NewError(code Code, message, fix string) *Error {
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

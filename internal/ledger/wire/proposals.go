package wire

import (
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// Proposal is a proposal as its reader may see it.
type Proposal struct {
	Number  int64                `json:"number"`
	State   ledger.ProposalState `json:"state" enum:"Open,Approved,Outdated,Committed,Rejected,Withdrawn"`
	By      string               `json:"by" doc:"Who proposes it, and never approves it"`
	At      time.Time            `json:"at"`
	Message string               `json:"message,omitempty"`
	Draft   Draft                `json:"draft" doc:"Lists leave out contents; values of Secrets are digests"`
	Preview Preview              `json:"preview" doc:"What it does in the proxies. Lists have its digest only"`
	Base    int64                `json:"base" doc:"The newest change when the preview was made"`
	Round   int                  `json:"round" doc:"Grows when the outcome is another one: then approvals are needed anew"`
	Answers []Answered           `json:"answers" doc:"The oldest first; those of other rounds do not count"`
	Needed  int                  `json:"needed" doc:"How many approvals it needs"`
	Have    int                  `json:"have" doc:"How many approvals count"`
	Change  int64                `json:"change,omitempty" doc:"That it was committed as"`
	Ended   *ledger.Ended        `json:"ended,omitempty"`
	Hidden  int                  `json:"hidden,omitempty" doc:"How many objects the caller may not read"`
}

// Answered is what somebody said to a proposal.
type Answered struct {
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Approve bool      `json:"approve"`
	Words   string    `json:"words,omitempty"`
	Round   int       `json:"round" doc:"Of the proposal: it counts if that is the proposal's by now"`
}

// ProposalPage is a page of proposals.
type ProposalPage struct {
	Proposals []Proposal `json:"proposals"`
	More      bool       `json:"more,omitempty"`
	Next      int64      `json:"next,omitempty" doc:"What to send as after, for the next page"`
}

// AnswerBody is the body of POST /proposals/{number}/approve, /reject and /withdraw.
type AnswerBody struct {
	Message string `json:"message,omitempty" maxLength:"4096" doc:"Why; a rejection has to say"`
	Preview string `json:"preview,omitempty" doc:"The digest of the preview that it is about, which approve has to state"`
}

// CommitBody is the body of POST /proposals/{number}/commit.
type CommitBody struct {
	Preview string `json:"preview,omitempty" doc:"The digest of the preview that it is about: refused if that changed"`
}

// DraftOf is how a draft travels.
func DraftOf(d ledger.Draft) Draft {
	b := Draft{Edits: []Edit{}, Message: d.Message, Via: d.Via, Verb: d.Verb, Of: d.Of, Head: d.Head, Release: d.Release,
		DryRun: d.DryRun, Deletions: d.Deletions}
	if d.Hold != nil {
		b.Hold = &HoldBody{Why: d.Hold.Why, Until: d.Hold.Until}
	}
	if d.Back != nil {
		b.Back = &Back{Shared: d.Back.Shared}
		for _, k := range d.Back.Objects {
			b.Back.Objects = append(b.Back.Objects, ObjectName(k))
		}
	}
	for _, e := range d.Edits {
		b.Edits = append(b.Edits, Edit{Target: e.Target, Group: e.Group, Kind: e.Kind, Namespace: e.Namespace,
			Name: e.Name, Content: e.Content, Revision: e.Revision, Delete: e.Delete, Expect: e.Expect})
	}
	return b
}

// ProposalOf is how a proposal travels.
func ProposalOf(p ledger.Proposal) Proposal {
	w := Proposal{Number: p.Number, State: p.State, By: p.By, At: p.At, Message: p.Message, Draft: DraftOf(p.Draft),
		Preview: p.Preview, Base: p.Base, Round: p.Round, Answers: []Answered{}, Needed: p.Needed,
		Have: p.CountApprovals(), Change: p.Change, Ended: p.Ended}
	for _, a := range p.Answers {
		w.Answers = append(w.Answers, Answered{By: a.By, At: a.At, Approve: a.Approve, Words: a.Words, Round: a.Round})
	}
	return w
}

// ToLedger is the proposal that travelled.
func (p Proposal) ToLedger() ledger.Proposal {
	l := ledger.Proposal{Number: p.Number, State: p.State, By: p.By, At: p.At, Message: p.Message,
		Preview: p.Preview, Base: p.Base, Round: p.Round, Needed: p.Needed, Change: p.Change, Ended: p.Ended}
	l.Draft = ledger.Draft{Author: p.By, Via: p.Draft.Via, Message: p.Draft.Message, Verb: p.Draft.Verb, Of: p.Draft.Of,
		Release: p.Draft.Release, Deletions: p.Draft.Deletions}
	if h := p.Draft.Hold; h != nil {
		l.Draft.Hold = &ledger.Hold{By: p.By, Why: h.Why, Until: h.Until}
	}
	for _, e := range p.Draft.Edits {
		l.Draft.Edits = append(l.Draft.Edits, ledger.Edit{Key: ledger.Key{Target: e.Target, Group: e.Group, Kind: e.Kind,
			Namespace: e.Namespace, Name: e.Name}, Content: e.Content, Revision: e.Revision, Delete: e.Delete,
			Expect: e.Expect})
	}
	for _, a := range p.Answers {
		l.Answers = append(l.Answers, ledger.Answer{By: a.By, At: a.At, Approve: a.Approve, Words: a.Words, Round: a.Round})
	}
	return l
}

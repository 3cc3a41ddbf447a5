package rest

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Proposer makes proposals of drafts with their previews, and commits them as they were previewed.
type Proposer interface {
	Propose(ctx context.Context, d ledger.Draft) (ledger.Proposal, error)
	// CommitProposal commits a proposal for somebody. bound, if not "", is the digest of the preview that it must have.
	CommitProposal(ctx context.Context, number int64, by, bound string) (ledger.Change, error)
	// Repreview gives a proposal the preview that it has by now.
	Repreview(ctx context.Context, number int64) (ledger.Proposal, error)
}

func registerProposals(s *server, api huma.API) {
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/proposals", Summary: "Propose change",
		DefaultStatus: http.StatusCreated,
		Description: "Others are to approve it. It is kept with what it does in the proxies. Its draft states no " +
			"head, dryRun or ifPreview.", Metadata: map[string]any{largeKey: true,
			checkKey: anyOf(ledger.MayPropose, ledger.MayWrite, ledger.MayDelete, ledger.MayRollback)}}, s.postProposal)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/proposals", Summary: "List proposals",
		Description: "The newest first. Those of which the caller may read nothing are left out, so that a page may be " +
			"short."}, s.getProposals)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/proposals/{number}", Summary: "Get proposal"},
		s.getProposal)
	approvers := map[string]any{checkKey: anyOf(ledger.MayApprove)}
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/proposals/{number}/approve",
		Summary: "Approve proposal", Metadata: approvers,
		Description: "Nobody approves what they proposed. The body states the digest of " +
			"the preview that is approved (428 without)."}, s.approveProposal)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/proposals/{number}/reject",
		Summary: "Reject proposal", Metadata: approvers, Description: "It ends with that."}, s.rejectProposal)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/proposals/{number}/withdraw",
		Summary: "Withdraw proposal", Description: "For who proposed it."}, s.withdrawProposal)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/proposals/{number}/preview",
		Summary: "Preview proposal anew", Description: "If it does something else by now, approvals are needed anew."},
		s.repreviewProposal)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/proposals/{number}/commit",
		Summary: "Commit proposal", Responses: extraResponses[ledger.Change](api, http.StatusCreated),
		Description: "It becomes a change if it is approved and still does what its preview says, once: repeats " +
			"answer the same change."}, s.commitProposal)
}

// requireProposer returns the maker of proposals' previews; an error if there is none.
func (s *server) requireProposer() (Proposer, error) {
	if s.Proposer == nil {
		return nil, &ledger.Error{Code: ledger.NotAsked, Message: "this server can't make previews of proposals",
			Fix: "ask one that can"}
	}
	return s.Proposer, nil
}

// oneProposal answers a proposal.
type oneProposal struct {
	Location string `header:"Location"`
	Body     wire.Proposal
}

func (s *server) postProposal(ctx context.Context, in *struct {
	Request string `header:"Idempotency-Key" maxLength:"200" doc:"Repeats of the request answer the first one's proposal"`
	Body    wire.Draft
}) (*oneProposal, error) {
	if in.Body.Head != 0 || in.Body.DryRun || in.Body.IfPreview != "" {
		return nil, &ledger.Error{Code: ledger.Invalid, Message: "a proposal states no head, dryRun or ifPreview",
			Fix: "leave them out: it is bound to its own preview"}
	}
	d, err := s.draftFromBody(ctx, in.Body, in.Request)
	if err != nil {
		return nil, err
	}
	if err := s.mayStated(ctx, d, s.mayPropose); err != nil {
		return nil, err
	}
	if d, err = s.prepareDraft(ctx, d, s.mayPropose); err != nil {
		return nil, err
	}
	by, err := s.requireProposer()
	if err != nil {
		return nil, err
	}
	if d.Blind, err = s.newGuard().IsBlind(ctx, requestInfoOf(ctx).caller, d.Edits); err != nil {
		return nil, err
	}
	end, err := s.acquireSlot(ctx, Previews)
	if err != nil {
		return nil, err
	}
	defer end()
	p, err := by.Propose(ctx, d)
	if err != nil {
		return nil, err
	}
	out, err := s.showProposal(ctx, p)
	if err != nil {
		return nil, err
	}
	out.Location = fmt.Sprintf("%s/proposals/%d", Prefix, p.Number)
	return out, nil
}

// mayPropose refuses a draft if the caller may neither propose changes of its objects nor make them.
func (s *server) mayPropose(ctx context.Context, d ledger.Draft) error {
	for _, e := range d.Edits {
		if d.Hold != nil || d.Release {
			if err := s.checkPermission(ctx, ledger.MayHold, e.Key); err != nil {
				return err
			}
		}
		ok, err := s.isEditAllowed(ctx, neededPermission(d, e), e.Key)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		if err := s.checkPermission(ctx, ledger.MayPropose, e.Key); err != nil {
			return err
		}
	}
	return nil
}

type proposalPage struct{ Body wire.ProposalPage }

func (s *server) getProposals(ctx context.Context, in *struct {
	State  ledger.ProposalState `query:"state" enum:"Open,Approved,Outdated,Committed,Rejected,Withdrawn"`
	Change int64                `query:"change" minimum:"0" doc:"That was committed as this change"`
	After  int64                `query:"after" minimum:"0" doc:"The last number of the page before"`
	Limit  int                  `query:"limit" minimum:"0" maximum:"1000"`
}) (*proposalPage, error) {
	list, err := s.Ledger.Proposals(ctx, ledger.ProposalsQuery{Page: ledger.Page{Limit: in.Limit, After: in.After},
		State: in.State, Change: in.Change})
	if err != nil {
		return nil, err
	}
	page := wire.ProposalPage{Proposals: []wire.Proposal{}, More: list.More}
	for _, p := range list.Proposals {
		seen, err := s.seenProposal(ctx, p)
		if err != nil {
			return nil, err
		}
		if len(seen.Draft.Edits) > 0 {
			page.Proposals = append(page.Proposals, seen)
		}
	}
	if n := len(list.Proposals); n > 0 && list.More {
		page.Next = list.Proposals[n-1].Number
	}
	return &proposalPage{page}, nil
}

// seenProposal is a proposal as the caller may see it: objects that they may read or approve changes of, or all of it
// if it is their own. Its preview is for who may approve all of it, and for others as seenPreview says.
func (s *server) seenProposal(ctx context.Context, p ledger.Proposal) (wire.Proposal, error) {
	var edits []ledger.Edit
	approves := true
	for _, e := range p.Draft.Edits {
		may, err := s.isAllowed(ctx, ledger.MayApprove, e.Key)
		if err != nil {
			return wire.Proposal{}, err
		}
		reads, err := s.isAllowed(ctx, ledger.MayRead, e.Key)
		if err != nil {
			return wire.Proposal{}, err
		}
		approves = approves && may
		if may || reads || p.By == requestInfoOf(ctx).caller.Subject {
			of := "" // who does not read the Secret can't tell whether it has the values of another proposal
			if !reads {
				of = fmt.Sprintf("proposal %d", p.Number)
			}
			if !reads && !may && statesSecret(e) { // nor whether they are those that it has
				p.Preview.Digest = ""
			}
			e.Content = s.redactSecret(ledger.Object{Key: e.Key, Content: e.Content}, of).Content
			edits = append(edits, e)
		}
	}
	hidden := len(p.Draft.Edits) - len(edits)
	p.Draft.Edits = edits
	if hidden > 0 {
		p.Preview.Clusters = []ledger.ClusterPreview{}
	}
	if !approves {
		var err error
		if p.Preview, err = s.seenPreview(ctx, p.Preview); err != nil {
			return wire.Proposal{}, err
		}
	}
	w := wire.ProposalOf(p)
	w.Hidden = hidden
	return w, nil
}

// showProposal answers a proposal if the caller may read some of it.
func (s *server) showProposal(ctx context.Context, p ledger.Proposal) (*oneProposal, error) {
	w, err := s.seenProposal(ctx, p)
	if err == nil && len(w.Draft.Edits) == 0 && w.Hidden > 0 {
		err = s.refuseHidden(ctx, fmt.Sprintf("proposal %d", p.Number), p.Draft.Edits[0].Key)
	}
	return &oneProposal{Body: w}, err
}

// readProposal reads a proposal. It needs no contents if the proposal is only to end.
func (s *server) readProposal(ctx context.Context, number int64, ends bool) (ledger.Proposal, error) {
	p, err := s.Ledger.Proposal(ctx, number)
	if ends && ledger.CodeOf(err) == ledger.Unprotected {
		return p, nil
	}
	return p, err
}

func (s *server) getProposal(ctx context.Context, in *struct {
	Number int64 `path:"number" minimum:"1"`
}) (*oneProposal, error) {
	p, err := s.readProposal(ctx, in.Number, false)
	if err != nil {
		return nil, err
	}
	return s.showProposal(ctx, p)
}

// answerInput is an answer to a proposal.
type answerInput struct {
	Number int64 `path:"number" minimum:"1"`
	Body   wire.AnswerBody
}

func (s *server) approveProposal(ctx context.Context, in *answerInput) (*oneProposal, error) {
	return s.answerProposal(ctx, in, true)
}

func (s *server) rejectProposal(ctx context.Context, in *answerInput) (*oneProposal, error) {
	return s.answerProposal(ctx, in, false)
}

func (s *server) answerProposal(ctx context.Context, in *answerInput, approve bool) (*oneProposal, error) {
	p, err := s.readProposal(ctx, in.Number, !approve)
	if err != nil {
		return nil, err
	}
	if err := s.mayAll(ctx, ledger.MayApprove, p); err != nil {
		return nil, err
	}
	if approve && in.Body.Preview == "" {
		return nil, &wire.Problem{Status: http.StatusPreconditionRequired, Code: ledger.Invalid, Field: "preview",
			Object: fmt.Sprintf("proposal %d", in.Number), Title: http.StatusText(http.StatusPreconditionRequired),
			Detail: "the request does not say which preview it approves",
			Fix:    "look at the proposal, and send its preview's digest as preview"}
	}
	who := requestInfoOf(ctx).caller.Subject
	p, err = s.Ledger.Answer(ctx, in.Number, ledger.Answer{By: who, Approve: approve, Preview: in.Body.Preview,
		Words: strings.TrimSpace(in.Body.Message)})
	if err != nil {
		return nil, s.noteDenial(ctx, ledger.MayApprove, err)
	}
	return s.showProposal(ctx, p)
}

// mayAll refuses if the caller may not do something with one of the objects.
func (s *server) mayAll(ctx context.Context, permission ledger.Permission, p ledger.Proposal) error {
	for _, e := range p.Draft.Edits {
		if err := s.checkPermission(ctx, permission, e.Key); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) withdrawProposal(ctx context.Context, in *answerInput) (*oneProposal, error) {
	p, err := s.readProposal(ctx, in.Number, true)
	if err != nil {
		return nil, err
	}
	if _, err := s.showProposal(ctx, p); err != nil {
		return nil, err
	}
	p, err = s.Ledger.Withdraw(ctx, in.Number, requestInfoOf(ctx).caller.Subject, strings.TrimSpace(in.Body.Message))
	if err != nil {
		return nil, s.noteDenial(ctx, ledger.MayPropose, err)
	}
	return s.showProposal(ctx, p)
}

func (s *server) repreviewProposal(ctx context.Context, in *struct {
	Number int64 `path:"number" minimum:"1"`
}) (*oneProposal, error) {
	p, err := s.readProposal(ctx, in.Number, false)
	if err != nil {
		return nil, err
	}
	if err := s.mayMove(ctx, p); err != nil {
		return nil, err
	}
	by, err := s.requireProposer()
	if err != nil {
		return nil, err
	}
	end, err := s.acquireSlot(ctx, Previews)
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err = by.Repreview(ctx, in.Number); err != nil {
		return nil, err
	}
	if p, err = s.Ledger.Proposal(ctx, in.Number); err != nil {
		return nil, err
	}
	return s.showProposal(ctx, p)
}

func (s *server) commitProposal(ctx context.Context, in *struct {
	Number int64 `path:"number" minimum:"1"`
	Body   wire.CommitBody
}) (*oneChange, error) {
	p, err := s.readProposal(ctx, in.Number, false)
	if err != nil {
		return nil, err
	}
	if p.CountApprovals() == 0 { // no approvals are needed, so this is as any other change
		err = s.mayDraft(ctx, p.Draft)
	} else {
		err = s.mayMove(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	by, err := s.requireProposer()
	if err != nil {
		return nil, err
	}
	end, err := s.acquireSlot(ctx, Previews)
	if err != nil {
		return nil, err
	}
	defer end()
	c, err := by.CommitProposal(ctx, in.Number, requestInfoOf(ctx).caller.Subject, in.Body.Preview)
	if err != nil {
		return nil, err
	}
	return s.answerChange(ctx, c)
}

// mayMove refuses a caller who neither made the proposal nor may approve it or make its changes.
func (s *server) mayMove(ctx context.Context, p ledger.Proposal) error {
	if p.By == requestInfoOf(ctx).caller.Subject {
		return s.mayPropose(ctx, p.Draft) // they may have lost the permission
	}
	for _, e := range p.Draft.Edits {
		if ok, err := s.isEditAllowed(ctx, neededPermission(p.Draft, e), e.Key); err != nil {
			return err
		} else if ok {
			continue
		}
		if err := s.checkPermission(ctx, ledger.MayApprove, e.Key); err != nil {
			return err
		}
	}
	return nil
}

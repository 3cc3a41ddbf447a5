package ledgertest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

var proposals = map[string]func(rig){
	"proposal is kept":                   proposalIsKept,
	"proposal that can't be committed":   proposalRefused,
	"proposal is sent twice":             proposalTwice,
	"proposal is approved and committed": proposalCommitted,
	"proposal is committed once":         proposalOnce,
	"proposal is committed by many":      proposalRace,
	"proposal is not approved":           proposalNotApproved,
	"proposal is bound to its preview":   proposalBound,
	"proposal is outdated":               proposalOutdated,
	"proposal is rejected":               proposalRejected,
	"proposal is withdrawn":              proposalWithdrawn,
	"proposals are listed":               proposalsListed,
	"proposal has a Secret":              proposalSecret,
	"proposal of all that edits want":    proposalOfAll,
	"approvals that a target needs":      proposalNeeded,
	"approvals of many":                  proposalApprovalRace,
}

// setApprovals has the default target need approvals.
func (r rig) setApprovals(approvals int) {
	r.t.Helper()
	target := ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Proxies, Approvals: approvals}
	r.wantNoError(r.SetTarget(r.ctx, target, "alice"))
}

var seenPreview = ledger.Preview{Digest: "d1", Clusters: []ledger.ClusterPreview{{Cluster: "here",
	Target: ledger.DefaultTarget, Text: "~ HTTPRoute shop/web", Report: []byte(`{"changed":true}`)}}}

// mustPropose has alice propose edits.
func (r rig) mustPropose(edits ...ledger.Edit) ledger.Proposal {
	r.t.Helper()
	p, err := r.Propose(r.ctx, newDraft(edits...), seenPreview)
	r.wantNoError(err)
	return p
}

func (r rig) wantProposal(number int64, want ledger.ProposalState) ledger.Proposal {
	r.t.Helper()
	p, err := r.Proposal(r.ctx, number)
	r.wantNoError(err)
	if p.State != want {
		r.t.Fatalf("proposal %d is %s, want %s", number, p.State, want)
	}
	return p
}

// commitUnapproved commits edits that nobody has to approve.
func (r rig) commitUnapproved(edits ...ledger.Edit) {
	r.t.Helper()
	targets, err := r.Targets(r.ctx)
	r.wantNoError(err)
	r.setApprovals(0)
	r.mustCommit(edits...)
	r.setApprovals(targets[0].Approvals)
}

func (r rig) approveAs(number int64, who ...string) {
	r.t.Helper()
	for _, by := range who {
		_, err := r.Answer(r.ctx, number, ledger.Answer{By: by, Approve: true})
		r.wantNoError(err)
	}
}

// commitDraft is the draft that commits a proposal as it is.
func (r rig) commitDraft(number int64, by string) ledger.Draft {
	r.t.Helper()
	p, err := r.Proposal(r.ctx, number)
	r.wantNoError(err)
	p.Draft.Proposal = &ledger.Proposed{Number: number, Preview: p.Preview.Digest, By: by}
	return p.Draft
}

func proposalIsKept(r rig) {
	r.mustCommit(putEdit(routeKey("web"), "a"))
	r.setApprovals(1)
	made := r.mustPropose(putEdit(routeKey("web"), "b"), putEdit(routeKey("api"), "c"))
	p := r.wantProposal(made.Number, ledger.Open)
	if p.Number != 1 || p.By != "alice" || p.Message != "because" || p.Round != 1 || p.Needed != 1 || p.At.IsZero() ||
		p.Preview.Digest == "" {
		r.t.Fatalf("%+v", p)
	}
	if len(p.Draft.Edits) != 2 || !sameJSON(p.Draft.Edits[0].Content, makeContent(routeKey("web"), "b")) {
		r.t.Fatalf("the draft is %+v", p.Draft)
	}
	r.wantObject(routeKey("web"), 1, 1, "a") // nothing was changed
	_, err := r.Proposal(r.ctx, 2)
	r.wantCode(err, ledger.NotFound)
	_, err = r.Answer(r.ctx, 2, ledger.Answer{By: "bob", Approve: true})
	r.wantCode(err, ledger.NotFound)
}

// proposalRefused: what Commit would refuse is refused when it is proposed, so that nobody approves it for nothing.
func proposalRefused(r rig) {
	r.mustCommit(putEdit(routeKey("web"), "a"))
	for code, edit := range map[ledger.Code]ledger.Edit{
		ledger.Stale:    expectGeneration(putEdit(routeKey("web"), "b"), 7),
		ledger.Exists:   expectGeneration(putEdit(routeKey("web"), "b"), 0),
		ledger.NotFound: deleteEdit(routeKey("none")),
		ledger.Invalid:  putEdit(routeKey("web"), "a"), // it changes nothing
	} {
		_, err := r.Propose(r.ctx, newDraft(edit), seenPreview)
		r.wantCode(err, code)
	}
	var many []ledger.Edit
	var gone []ledger.Edit
	for i := range ledger.FewDeletions + 1 {
		many, gone = append(many, putEdit(routeKey(fmt.Sprint("r", i)), "a")), append(gone,
			deleteEdit(routeKey(fmt.Sprint("r", i))))
	}
	r.mustCommit(many...)
	_, err := r.Propose(r.ctx, newDraft(gone...), seenPreview)
	r.wantCode(err, ledger.Conflict)
	page, err := r.Proposals(r.ctx, ledger.ProposalsQuery{})
	r.wantNoError(err)
	if len(page.Proposals) != 0 {
		r.t.Fatalf("%d proposals are kept", len(page.Proposals))
	}
}

func proposalTwice(r rig) {
	d := newDraft(putEdit(routeKey("web"), "a"))
	d.Request = "ci-7"
	first, err := r.Propose(r.ctx, d, seenPreview)
	r.wantNoError(err)
	again, err := r.Propose(r.ctx, d, seenPreview)
	r.wantNoError(err)
	if first.Number != again.Number {
		r.t.Fatalf("proposals %d and %d", first.Number, again.Number)
	}
	d.Edits[0] = putEdit(routeKey("web"), "b")
	_, err = r.Propose(r.ctx, d, seenPreview)
	r.wantCode(err, ledger.Conflict)
}

func proposalCommitted(r rig) {
	r.setApprovals(2)
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	r.approveAs(n, "bob", "carol")
	r.wantProposal(n, ledger.Approved)
	c := r.mustDraft(r.commitDraft(n, "carol"))
	p := r.wantProposal(n, ledger.Done)
	if p.Change != c.Number || p.Ended.By != "carol" || p.CountApprovals() != 2 {
		r.t.Fatalf("%+v of change %d", p, c.Number)
	}
	if c.Author != "alice" || c.Message != "because" {
		r.t.Fatalf("the change is %+v", c) // of who proposed it, not of who committed it
	}
	r.wantObject(routeKey("web"), 1, 1, "a")
	page, err := r.Proposals(r.ctx, ledger.ProposalsQuery{Change: c.Number})
	r.wantNoError(err)
	if len(page.Proposals) != 1 || page.Proposals[0].Number != n {
		r.t.Fatalf("%+v", page)
	}
}

// wantCommittedOnce wants that the repeated commit of a proposal is refused, or answers the change that it was.
func (r rig) wantCommittedOnce(n int64, c ledger.Change, err error) {
	r.t.Helper()
	if err == nil {
		if !c.Repeated || c.Number != n {
			r.t.Fatalf("it was committed again, as change %d", c.Number)
		}
		return
	}
	if e := r.wantCode(err, ledger.Conflict); len(e.Later) != 1 || e.Later[0] != n {
		r.t.Fatalf("%+v", e)
	}
}

func proposalOnce(r rig) {
	r.setApprovals(1)
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	r.approveAs(n, "bob")
	d := r.commitDraft(n, "bob")
	first := r.mustDraft(d)
	r.commitUnapproved(putEdit(routeKey("web"), "b"))
	c, err := r.Commit(r.ctx, d)
	r.wantCommittedOnce(first.Number, c, err)
	r.wantObject(routeKey("web"), 2, 2, "b")
}

// proposalRace: of many that commit it at once, also in one transaction, one does.
func proposalRace(r rig) {
	r.setApprovals(1)
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	r.approveAs(n, "bob")
	d := r.commitDraft(n, "bob")
	var wait sync.WaitGroup
	changes, errs := make([]ledger.Change, 20), make([]error, 20)
	for i := range errs {
		wait.Go(func() { changes[i], errs[i] = r.Commit(r.ctx, d) })
	}
	wait.Wait()
	made := 0
	for i, err := range errs {
		if err == nil && !changes[i].Repeated {
			made++
			continue
		}
		r.wantCommittedOnce(1, changes[i], err)
	}
	if made != 1 || r.mustHead().Change != 1 {
		r.t.Fatalf("%d commits succeeded, and the head is %d", made, r.mustHead().Change)
	}
}

func proposalNotApproved(r rig) {
	r.setApprovals(2)
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	r.wantRefusal(ledger.Conflict, r.commitDraft(n, "alice"))
	_, err := r.Answer(r.ctx, n, ledger.Answer{By: "alice", Approve: true})
	r.wantCode(err, ledger.Denied)
	r.approveAs(n, "bob", "bob")
	e := r.wantRefusal(ledger.Conflict, r.commitDraft(n, "alice"))
	if !strings.Contains(e.Message, "1 of 2") {
		r.t.Fatalf("%v", e)
	}
	r.approveAs(n, "carol")
	r.setApprovals(3) // what a target needs by now counts
	r.wantProposal(n, ledger.Open)
	r.wantRefusal(ledger.Conflict, r.commitDraft(n, "alice"))
	r.approveAs(n, "dave")
	r.mustDraft(r.commitDraft(n, "alice"))
}

func proposalBound(r rig) {
	r.setApprovals(1)
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	a := ledger.Answer{By: "bob", Approve: true, Preview: "another"}
	_, err := r.Answer(r.ctx, n, a)
	r.wantCode(err, ledger.Conflict)
	a.Preview = r.wantProposal(n, ledger.Open).Preview.Digest
	_, err = r.Answer(r.ctx, n, a)
	r.wantNoError(err)
	d := r.commitDraft(n, "bob")
	d.Proposal.Preview = "another"
	r.wantRefusal(ledger.Conflict, d)
	r.wantProposal(n, ledger.Approved)
	r.mustDraft(r.commitDraft(n, "bob"))
}

func proposalOutdated(r rig) {
	r.setApprovals(1)
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	r.approveAs(n, "bob")
	old := r.commitDraft(n, "bob")
	r.commitUnapproved(putEdit(routeKey("web"), "z"))
	now := seenPreview
	now.Digest, now.Head, now.Clusters = "d2", r.mustHead().Change, seenPreview.Clusters[:0]
	p, err := r.Repreview(r.ctx, n, now)
	r.wantNoError(err)
	if p.Number != n || p.Round != 2 || p.Base != now.Head || len(p.Answers) != 1 {
		r.t.Fatalf("%+v", p)
	}
	r.wantProposal(n, ledger.Outdated)
	r.wantRefusal(ledger.Conflict, old)
	r.wantRefusal(ledger.Conflict, r.commitDraft(n, "bob"))
	r.approveAs(n, "carol")
	r.wantRefusal(ledger.Conflict, old) // approved, but not with the preview that it is bound to
	r.mustDraft(r.commitDraft(n, "bob"))
	if p := r.wantProposal(n, ledger.Done); len(p.Answers) != 2 || p.CountApprovals() != 1 {
		r.t.Fatalf("%+v", p.Answers)
	}
	r.wantObject(routeKey("web"), 2, 2, "a")
}

func proposalRejected(r rig) {
	r.setApprovals(1)
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	r.approveAs(n, "bob")
	_, err := r.Answer(r.ctx, n, ledger.Answer{By: "carol"})
	r.wantCode(err, ledger.Invalid) // it says no reason
	_, err = r.Answer(r.ctx, n, ledger.Answer{By: "carol", Words: "not on a Friday"})
	r.wantNoError(err)
	p := r.wantProposal(n, ledger.Rejected)
	if p.Ended.By != "carol" || p.Ended.Words != "not on a Friday" || p.Ended.At.IsZero() {
		r.t.Fatalf("%+v", p.Ended)
	}
	r.wantRefusal(ledger.Conflict, r.commitDraft(n, "bob"))
	_, err = r.Answer(r.ctx, n, ledger.Answer{By: "bob", Approve: true})
	r.wantCode(err, ledger.Conflict)
	_, err = r.Repreview(r.ctx, n, ledger.Preview{Digest: "d2", Clusters: seenPreview.Clusters})
	r.wantCode(err, ledger.Conflict)
}

func proposalWithdrawn(r rig) {
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	_, err := r.Withdraw(r.ctx, n, "bob", "")
	r.wantCode(err, ledger.Denied)
	_, err = r.Withdraw(r.ctx, n, "alice", "not needed")
	r.wantNoError(err)
	r.wantProposal(n, ledger.Withdrawn)
	r.wantRefusal(ledger.Conflict, r.commitDraft(n, "bob"))
}

func proposalsListed(r rig) {
	r.setApprovals(1)
	for i := range 5 {
		r.mustPropose(putEdit(routeKey(fmt.Sprint("r", i)), "a"))
	}
	r.approveAs(2, "bob")
	r.approveAs(3, "bob")
	r.mustDraft(r.commitDraft(3, "bob"))
	list := func(q ledger.ProposalsQuery) string {
		page, err := r.Proposals(r.ctx, q)
		r.wantNoError(err)
		text := ""
		for _, p := range page.Proposals {
			text += fmt.Sprintf("%d %s, ", p.Number, p.State)
			if len(p.Draft.Edits) != 1 || p.Draft.Edits[0].Kind != "HTTPRoute" || p.Draft.Edits[0].Content != nil {
				r.t.Errorf("the draft in the list is %+v", p.Draft)
			}
		}
		return text + fmt.Sprint(page.More)
	}
	for want, q := range map[string]ledger.ProposalsQuery{
		"5 Open, 4 Open, 3 Committed, 2 Approved, 1 Open, false": {},
		"5 Open, 4 Open, true":          {Page: ledger.Page{Limit: 2}},
		"3 Committed, 2 Approved, true": {Page: ledger.Page{Limit: 2, After: 4}},
		"1 Open, false":                 {Page: ledger.Page{Limit: 2, After: 2}},
		"5 Open, 4 Open, 1 Open, false": {State: ledger.Open},
		"5 Open, true":                  {State: ledger.Open, Page: ledger.Page{Limit: 1}},
		"2 Approved, false":             {State: ledger.Approved},
		"3 Committed, false":            {State: ledger.Done},
		"false":                         {State: ledger.Rejected},
	} {
		if got := list(q); got != want {
			r.t.Errorf("%+v lists %s, want %s", q, got, want)
		}
	}
	_, err := r.Proposals(r.ctx, ledger.ProposalsQuery{State: "Maybe"})
	r.wantCode(err, ledger.Invalid)
}

func proposalSecret(r rig) {
	r.setApprovals(1)
	k := secretKey("login")
	n := r.mustPropose(putEdit(k, "a")).Number
	r.approveAs(n, "bob")
	r.mustDraft(r.commitDraft(n, "bob"))
	o := r.mustObject(k, 0)
	if o.Generation != 1 || o.Revision != 1 {
		r.t.Fatalf("%+v", o)
	}
	for i, e := range r.wantProposal(n, ledger.Done).Draft.Edits {
		if len(e.Content) > 0 {
			r.t.Errorf("edit %d keeps its content", i) // the ledger has it
		}
	}
}

// proposalOfAll: what a proposal was made of is what is committed, holds and expectations, too.
func proposalOfAll(r rig) {
	r.mustCommit(putEdit(routeKey("web"), "a"), putEdit(routeKey("api"), "a"), putEdit(routeKey("app"), "a"))
	r.mustCommit(putEdit(routeKey("web"), "b"))
	d := newDraft(putEdit(routeKey("web"), "c"))
	d.Hold = &ledger.Hold{By: "alice", Why: "incident 7"}
	r.mustDraft(d)
	r.setApprovals(1)
	until := time.Now().Add(time.Hour)
	d = newDraft(revisionEdit(routeKey("web"), 1), expectGeneration(deleteEdit(routeKey("api")), 1),
		expectGeneration(putEdit(routeKey("new"), "a"), 0),
		putEdit(routeKey("app"), "a"))
	d.Release, d.Hold, d.Verb = true, &ledger.Hold{By: "alice", Why: "incident 8", Until: until}, ledger.Import
	p, err := r.Propose(r.ctx, d, seenPreview)
	r.wantNoError(err)
	r.approveAs(p.Number, "bob")
	c := r.mustDraft(r.commitDraft(p.Number, "bob"))
	if len(c.Edited) != 4 || c.Verb != ledger.Import {
		r.t.Fatalf("%+v", c)
	}
	o := r.wantObject(routeKey("web"), 4, 1, "a")
	if o.Hold == nil || o.Hold.Why != "incident 8" || o.Hold.Until.Sub(until).Abs() > time.Millisecond {
		r.t.Fatalf("%+v", o.Hold)
	}
	r.wantObject(routeKey("api"), 2, 0, "")
	r.wantObject(routeKey("new"), 1, 1, "a")
}

// proposalNeeded: what a target needs, a change that states to be direct is refused without.
func proposalNeeded(r rig) {
	direct := func(edits ...ledger.Edit) ledger.Draft {
		d := newDraft(edits...)
		d.Direct = true
		return d
	}
	r.mustDraft(direct(putEdit(routeKey("web"), "a")))
	r.setApprovals(1)
	e := r.wantRefusal(ledger.Denied, direct(putEdit(routeKey("web"), "b")))
	if !strings.Contains(e.Fix, "propose") || e.Object == "" {
		r.t.Fatalf("%v", e)
	}
	if c := r.mustDraft(direct(putEdit(routeKey("web"), "a"))); c.Number != 0 {
		r.t.Fatalf("%+v", c) // what changes nothing needs no approval
	}
	dry := direct(putEdit(routeKey("web"), "b"))
	dry.DryRun = true
	r.mustDraft(dry)
	n := r.mustPropose(putEdit(routeKey("web"), "b")).Number
	r.wantRefusal(ledger.Conflict, r.commitDraft(n, "alice"))
	r.setApprovals(0)
	r.wantProposal(n, ledger.Approved) // nobody has to any more
	r.mustDraft(r.commitDraft(n, "alice"))
	r.mustDraft(direct(putEdit(routeKey("web"), "c")))
	err := r.SetTarget(r.ctx, ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Proxies, Approvals: -1}, "alice")
	r.wantCode(err, ledger.Invalid)
}

// proposalApprovalRace: answers that come at the same time are all kept.
func proposalApprovalRace(r rig) {
	const many = 12
	r.setApprovals(many)
	n := r.mustPropose(putEdit(routeKey("web"), "a")).Number
	var wait sync.WaitGroup
	errs := make([]error, many)
	for i := range errs {
		by := fmt.Sprint("person", i)
		wait.Go(func() { _, errs[i] = r.Answer(r.ctx, n, ledger.Answer{By: by, Approve: true}) })
	}
	wait.Wait()
	for _, err := range errs {
		r.wantNoError(err)
	}
	r.wantProposal(n, ledger.Approved)
}

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

// needs has the default target need approvals.
func (r rig) needs(approvals int) {
	r.t.Helper()
	target := ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Proxies, Approvals: approvals}
	r.ok(r.SetTarget(r.ctx, target, "alice"))
}

var seen = ledger.Preview{Digest: "d1", Clusters: []ledger.ClusterPreview{{Cluster: "here",
	Target: ledger.DefaultTarget, Text: "~ HTTPRoute shop/web", Report: []byte(`{"changed":true}`)}}}

// propose has alice propose edits.
func (r rig) propose(edits ...ledger.Edit) ledger.Proposal {
	r.t.Helper()
	p, err := r.Propose(r.ctx, draft(edits...), seen)
	r.ok(err)
	return p
}

func (r rig) proposal(number int64, want ledger.Verdict) ledger.Proposal {
	r.t.Helper()
	p, err := r.Proposal(r.ctx, number)
	r.ok(err)
	if p.State != want {
		r.t.Fatalf("proposal %d is %s, want %s", number, p.State, want)
	}
	return p
}

// besides commits edits that nobody has to approve.
func (r rig) besides(edits ...ledger.Edit) {
	r.t.Helper()
	targets, err := r.Targets(r.ctx)
	r.ok(err)
	r.needs(0)
	r.must(edits...)
	r.needs(targets[0].Approvals)
}

func (r rig) approve(number int64, who ...string) {
	r.t.Helper()
	for _, by := range who {
		_, err := r.Answer(r.ctx, number, ledger.Answer{By: by, Approve: true})
		r.ok(err)
	}
}

// commitOf is the draft that commits a proposal as it is.
func (r rig) commitOf(number int64, by string) ledger.Draft {
	r.t.Helper()
	p, err := r.Proposal(r.ctx, number)
	r.ok(err)
	p.Draft.Proposal = &ledger.Proposed{Number: number, Preview: p.Preview.Digest, By: by}
	return p.Draft
}

func proposalIsKept(r rig) {
	r.must(put(key("web"), "a"))
	r.needs(1)
	made := r.propose(put(key("web"), "b"), put(key("api"), "c"))
	p := r.proposal(made.Number, ledger.Open)
	if p.Number != 1 || p.By != "alice" || p.Message != "because" || p.Round != 1 || p.Needed != 1 || p.At.IsZero() ||
		p.Preview.Digest == "" {
		r.t.Fatalf("%+v", p)
	}
	if len(p.Draft.Edits) != 2 || !sameJSON(p.Draft.Edits[0].Content, content(key("web"), "b")) {
		r.t.Fatalf("the draft is %+v", p.Draft)
	}
	r.is(key("web"), 1, 1, "a") // nothing was changed
	_, err := r.Proposal(r.ctx, 2)
	r.code(err, ledger.NotFound)
	_, err = r.Answer(r.ctx, 2, ledger.Answer{By: "bob", Approve: true})
	r.code(err, ledger.NotFound)
}

// proposalRefused: what Commit would refuse is refused when it is proposed, so that nobody approves it for nothing.
func proposalRefused(r rig) {
	r.must(put(key("web"), "a"))
	for code, edit := range map[ledger.Code]ledger.Edit{
		ledger.Stale:    expecting(put(key("web"), "b"), 7),
		ledger.Exists:   expecting(put(key("web"), "b"), 0),
		ledger.NotFound: remove(key("none")),
		ledger.Invalid:  put(key("web"), "a"), // it changes nothing
	} {
		_, err := r.Propose(r.ctx, draft(edit), seen)
		r.code(err, code)
	}
	var many []ledger.Edit
	var gone []ledger.Edit
	for i := range ledger.FewDeletions + 1 {
		many, gone = append(many, put(key(fmt.Sprint("r", i)), "a")), append(gone, remove(key(fmt.Sprint("r", i))))
	}
	r.must(many...)
	_, err := r.Propose(r.ctx, draft(gone...), seen)
	r.code(err, ledger.Conflict)
	page, err := r.Proposals(r.ctx, ledger.ProposalsQuery{})
	r.ok(err)
	if len(page.Proposals) != 0 {
		r.t.Fatalf("%d proposals are kept", len(page.Proposals))
	}
}

func proposalTwice(r rig) {
	d := draft(put(key("web"), "a"))
	d.Request = "ci-7"
	first, err := r.Propose(r.ctx, d, seen)
	r.ok(err)
	again, err := r.Propose(r.ctx, d, seen)
	r.ok(err)
	if first.Number != again.Number {
		r.t.Fatalf("proposals %d and %d", first.Number, again.Number)
	}
	d.Edits[0] = put(key("web"), "b")
	_, err = r.Propose(r.ctx, d, seen)
	r.code(err, ledger.Conflict)
}

func proposalCommitted(r rig) {
	r.needs(2)
	n := r.propose(put(key("web"), "a")).Number
	r.approve(n, "bob", "carol")
	r.proposal(n, ledger.Approved)
	c := r.mustDraft(r.commitOf(n, "carol"))
	p := r.proposal(n, ledger.Done)
	if p.Change != c.Number || p.Ended.By != "carol" || p.Approvals() != 2 {
		r.t.Fatalf("%+v of change %d", p, c.Number)
	}
	if c.Author != "alice" || c.Message != "because" {
		r.t.Fatalf("the change is %+v", c) // of who proposed it, not of who committed it
	}
	r.is(key("web"), 1, 1, "a")
	page, err := r.Proposals(r.ctx, ledger.ProposalsQuery{Change: c.Number})
	r.ok(err)
	if len(page.Proposals) != 1 || page.Proposals[0].Number != n {
		r.t.Fatalf("%+v", page)
	}
}

// once wants that the repeated commit of a proposal is refused, or answers the change that it was.
func (r rig) once(n int64, c ledger.Change, err error) {
	r.t.Helper()
	if err == nil {
		if !c.Repeated || c.Number != n {
			r.t.Fatalf("it was committed again, as change %d", c.Number)
		}
		return
	}
	if e := r.code(err, ledger.Conflict); len(e.Later) != 1 || e.Later[0] != n {
		r.t.Fatalf("%+v", e)
	}
}

func proposalOnce(r rig) {
	r.needs(1)
	n := r.propose(put(key("web"), "a")).Number
	r.approve(n, "bob")
	d := r.commitOf(n, "bob")
	first := r.mustDraft(d)
	r.besides(put(key("web"), "b"))
	c, err := r.Commit(r.ctx, d)
	r.once(first.Number, c, err)
	r.is(key("web"), 2, 2, "b")
}

// proposalRace: of many that commit it at once, also in one transaction, one does.
func proposalRace(r rig) {
	r.needs(1)
	n := r.propose(put(key("web"), "a")).Number
	r.approve(n, "bob")
	d := r.commitOf(n, "bob")
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
		r.once(1, changes[i], err)
	}
	if made != 1 || r.head().Change != 1 {
		r.t.Fatalf("%d commits succeeded, and the head is %d", made, r.head().Change)
	}
}

func proposalNotApproved(r rig) {
	r.needs(2)
	n := r.propose(put(key("web"), "a")).Number
	r.refused(ledger.Conflict, r.commitOf(n, "alice"))
	_, err := r.Answer(r.ctx, n, ledger.Answer{By: "alice", Approve: true})
	r.code(err, ledger.Denied)
	r.approve(n, "bob", "bob")
	e := r.refused(ledger.Conflict, r.commitOf(n, "alice"))
	if !strings.Contains(e.Message, "1 of 2") {
		r.t.Fatalf("%v", e)
	}
	r.approve(n, "carol")
	r.needs(3) // what a target needs by now counts
	r.proposal(n, ledger.Open)
	r.refused(ledger.Conflict, r.commitOf(n, "alice"))
	r.approve(n, "dave")
	r.mustDraft(r.commitOf(n, "alice"))
}

func proposalBound(r rig) {
	r.needs(1)
	n := r.propose(put(key("web"), "a")).Number
	a := ledger.Answer{By: "bob", Approve: true, Preview: "another"}
	_, err := r.Answer(r.ctx, n, a)
	r.code(err, ledger.Conflict)
	a.Preview = r.proposal(n, ledger.Open).Preview.Digest
	_, err = r.Answer(r.ctx, n, a)
	r.ok(err)
	d := r.commitOf(n, "bob")
	d.Proposal.Preview = "another"
	r.refused(ledger.Conflict, d)
	r.proposal(n, ledger.Approved)
	r.mustDraft(r.commitOf(n, "bob"))
}

func proposalOutdated(r rig) {
	r.needs(1)
	n := r.propose(put(key("web"), "a")).Number
	r.approve(n, "bob")
	old := r.commitOf(n, "bob")
	r.besides(put(key("web"), "z"))
	now := seen
	now.Digest, now.Head, now.Clusters = "d2", r.head().Change, seen.Clusters[:0]
	p, err := r.Repreview(r.ctx, n, now)
	r.ok(err)
	if p.Number != n || p.Round != 2 || p.Base != now.Head || len(p.Answers) != 1 {
		r.t.Fatalf("%+v", p)
	}
	r.proposal(n, ledger.Outdated)
	r.refused(ledger.Conflict, old)
	r.refused(ledger.Conflict, r.commitOf(n, "bob"))
	r.approve(n, "carol")
	r.refused(ledger.Conflict, old) // approved, but not with the preview that it is bound to
	r.mustDraft(r.commitOf(n, "bob"))
	if p := r.proposal(n, ledger.Done); len(p.Answers) != 2 || p.Approvals() != 1 {
		r.t.Fatalf("%+v", p.Answers)
	}
	r.is(key("web"), 2, 2, "a")
}

func proposalRejected(r rig) {
	r.needs(1)
	n := r.propose(put(key("web"), "a")).Number
	r.approve(n, "bob")
	_, err := r.Answer(r.ctx, n, ledger.Answer{By: "carol"})
	r.code(err, ledger.Invalid) // it says no reason
	_, err = r.Answer(r.ctx, n, ledger.Answer{By: "carol", Words: "not on a Friday"})
	r.ok(err)
	p := r.proposal(n, ledger.Rejected)
	if p.Ended.By != "carol" || p.Ended.Words != "not on a Friday" || p.Ended.At.IsZero() {
		r.t.Fatalf("%+v", p.Ended)
	}
	r.refused(ledger.Conflict, r.commitOf(n, "bob"))
	_, err = r.Answer(r.ctx, n, ledger.Answer{By: "bob", Approve: true})
	r.code(err, ledger.Conflict)
	_, err = r.Repreview(r.ctx, n, ledger.Preview{Digest: "d2", Clusters: seen.Clusters})
	r.code(err, ledger.Conflict)
}

func proposalWithdrawn(r rig) {
	n := r.propose(put(key("web"), "a")).Number
	_, err := r.Withdraw(r.ctx, n, "bob", "")
	r.code(err, ledger.Denied)
	_, err = r.Withdraw(r.ctx, n, "alice", "not needed")
	r.ok(err)
	r.proposal(n, ledger.Withdrawn)
	r.refused(ledger.Conflict, r.commitOf(n, "bob"))
}

func proposalsListed(r rig) {
	r.needs(1)
	for i := range 5 {
		r.propose(put(key(fmt.Sprint("r", i)), "a"))
	}
	r.approve(2, "bob")
	r.approve(3, "bob")
	r.mustDraft(r.commitOf(3, "bob"))
	list := func(q ledger.ProposalsQuery) string {
		page, err := r.Proposals(r.ctx, q)
		r.ok(err)
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
	r.code(err, ledger.Invalid)
}

func proposalSecret(r rig) {
	r.needs(1)
	k := secretKey("login")
	n := r.propose(put(k, "a")).Number
	r.approve(n, "bob")
	r.mustDraft(r.commitOf(n, "bob"))
	o := r.object(k, 0)
	if o.Generation != 1 || o.Revision != 1 {
		r.t.Fatalf("%+v", o)
	}
	for i, e := range r.proposal(n, ledger.Done).Draft.Edits {
		if len(e.Content) > 0 {
			r.t.Errorf("edit %d keeps its content", i) // the ledger has it
		}
	}
}

// proposalOfAll: what a proposal was made of is what is committed, holds and expectations, too.
func proposalOfAll(r rig) {
	r.must(put(key("web"), "a"), put(key("api"), "a"), put(key("app"), "a"))
	r.must(put(key("web"), "b"))
	d := draft(put(key("web"), "c"))
	d.Hold = &ledger.Hold{By: "alice", Why: "incident 7"}
	r.mustDraft(d)
	r.needs(1)
	until := time.Now().Add(time.Hour)
	d = draft(toRevision(key("web"), 1), expecting(remove(key("api")), 1), expecting(put(key("new"), "a"), 0),
		put(key("app"), "a"))
	d.Release, d.Hold, d.Verb = true, &ledger.Hold{By: "alice", Why: "incident 8", Until: until}, ledger.Import
	p, err := r.Propose(r.ctx, d, seen)
	r.ok(err)
	r.approve(p.Number, "bob")
	c := r.mustDraft(r.commitOf(p.Number, "bob"))
	if len(c.Edited) != 4 || c.Verb != ledger.Import {
		r.t.Fatalf("%+v", c)
	}
	o := r.is(key("web"), 4, 1, "a")
	if o.Hold == nil || o.Hold.Why != "incident 8" || o.Hold.Until.Sub(until).Abs() > time.Millisecond {
		r.t.Fatalf("%+v", o.Hold)
	}
	r.is(key("api"), 2, 0, "")
	r.is(key("new"), 1, 1, "a")
}

// proposalNeeded: what a target needs, a change that states to be direct is refused without.
func proposalNeeded(r rig) {
	direct := func(edits ...ledger.Edit) ledger.Draft {
		d := draft(edits...)
		d.Direct = true
		return d
	}
	r.mustDraft(direct(put(key("web"), "a")))
	r.needs(1)
	e := r.refused(ledger.Denied, direct(put(key("web"), "b")))
	if !strings.Contains(e.Fix, "propose") || e.Object == "" {
		r.t.Fatalf("%v", e)
	}
	if c := r.mustDraft(direct(put(key("web"), "a"))); c.Number != 0 {
		r.t.Fatalf("%+v", c) // what changes nothing needs no approval
	}
	dry := direct(put(key("web"), "b"))
	dry.DryRun = true
	r.mustDraft(dry)
	n := r.propose(put(key("web"), "b")).Number
	r.refused(ledger.Conflict, r.commitOf(n, "alice"))
	r.needs(0)
	r.proposal(n, ledger.Approved) // nobody has to any more
	r.mustDraft(r.commitOf(n, "alice"))
	r.mustDraft(direct(put(key("web"), "c")))
	err := r.SetTarget(r.ctx, ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Proxies, Approvals: -1}, "alice")
	r.code(err, ledger.Invalid)
}

// proposalApprovalRace: answers that come at the same time are all kept.
func proposalApprovalRace(r rig) {
	const many = 12
	r.needs(many)
	n := r.propose(put(key("web"), "a")).Number
	var wait sync.WaitGroup
	errs := make([]error, many)
	for i := range errs {
		by := fmt.Sprint("person", i)
		wait.Go(func() { _, errs[i] = r.Answer(r.ctx, n, ledger.Answer{By: by, Approve: true}) })
	}
	wait.Wait()
	for _, err := range errs {
		r.ok(err)
	}
	r.proposal(n, ledger.Approved)
}

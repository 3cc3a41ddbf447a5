package rest_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
	"cardea.dev/cardea/internal/ops/diff"
	previews "cardea.dev/cardea/internal/ops/ledgerpreview"
)

// proposing is a server with proposals. Cluster "east" is asked for previews.
type proposing struct {
	*rig
	outcome atomic.Int64 // what a change does in the proxies of east; below 0: it can't be asked
}

// newProposing starts a server whose default target needs approvals. Carol may approve changes in namespace shop.
func newProposing(t *testing.T, approvals int) *proposing {
	t.Helper()
	p := &proposing{}
	p.rig = newRig(t, func(c *rest.Config) {
		c.Proposer = &previews.Previewer{Ledger: c.Ledger, IsRead: func(ledger.Key) bool { return true }, CardeasOf: p.asked}
	})
	p.needs(approvals)
	p.grant("carol", ledger.MayApprove, "shop")
	return p
}

// grant lets somebody do one thing more, in namespaces or everywhere.
func (p *proposing) grant(who string, what ledger.Permission, namespaces ...string) {
	p.t.Helper()
	name := who + "-" + string(what)
	p.do(call{who: "root", method: "PUT", path: "/grants/" + name, body: ledger.Grant{Name: name, Subjects: []string{who},
		Permissions: []ledger.Permission{what}, Namespaces: namespaces}}).is(204, nil)
}

func (p *proposing) asked(context.Context, string) ([]previews.CardeaAdmin, error) {
	n := p.outcome.Load()
	if n < 0 {
		return []previews.CardeaAdmin{{Cluster: "east", Why: "it is asleep"}}, nil
	}
	return []previews.CardeaAdmin{{Cluster: "east", Diff: func(context.Context, diff.Edit) (diff.Report, error) {
		return diff.Report{Refused: []string{fmt.Sprint("outcome ", n)}}, nil
	}}}, nil
}

func (p *proposing) needs(approvals int) {
	p.t.Helper()
	p.do(call{who: "root", method: "PUT", path: "/targets/default", body: ledger.Target{Name: "default",
		Server: ledger.Proxies, Approvals: approvals}}).is(204, nil)
}

func edits(list ...string) map[string]any {
	var all []string
	for _, e := range list {
		all = append(all, `{"content": `+e+`}`)
	}
	return map[string]any{"message": "because", "edits": raw("[" + strings.Join(all, ",") + "]")}
}

// raw is JSON as it is.
type raw string

func (r raw) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// propose proposes an HTTPRoute of namespace shop.
func (p *proposing) propose(who, name, host string) wire.Proposal {
	p.t.Helper()
	var made wire.Proposal
	p.do(call{who: who, method: "POST", path: "/proposals", body: edits(web(name, host))}).is(201, &made)
	return made
}

// to sends an answer to a proposal, by default with the preview that it has by now.
func (p *proposing) to(who string, number int64, verb string, body any) answer {
	p.t.Helper()
	if body == nil {
		is, err := p.store.Proposal(p.t.Context(), number)
		if err != nil && ledger.CodeOf(err) != ledger.NotFound {
			p.t.Fatal(err)
		}
		body = map[string]any{"preview": is.Preview.Digest}
	}
	return p.do(call{who: who, method: "POST", path: fmt.Sprintf("/proposals/%d/%s", number, verb), body: body})
}

func (p *proposing) get(who string, number int64) (w wire.Proposal) {
	p.t.Helper()
	p.do(call{who: who, method: "GET", path: fmt.Sprintf("/proposals/%d", number)}).is(200, &w)
	return w
}

func (p *proposing) denials() int {
	p.t.Helper()
	list, err := p.store.Denials(p.t.Context(), ledger.Page{})
	p.ok(err)
	return len(list)
}

func TestProposalIsApprovedAndCommitted(t *testing.T) {
	p := newProposing(t, 1)
	a := p.do(call{who: "alice", method: "POST", path: "/proposals", body: edits(web("web", "a.example"))})
	var made wire.Proposal
	a.is(201, &made)
	if got := a.Header.Get("Location"); got != rest.Prefix+"/proposals/1" || made.State != ledger.Open ||
		made.By != "alice" || made.Needed != 1 || !strings.Contains(made.Preview.Clusters[0].Text, "outcome 0") {
		t.Fatalf("%s: %s", got, a.body)
	}

	// Bob may read only; alice may do nothing but propose, and is not asked.
	p.to("bob", 1, "approve", nil).problem(403, ledger.Denied)
	p.to("alice", 1, "approve", nil).problem(403, ledger.Denied)
	p.grant("alice", ledger.MayApprove)
	noted := p.denials()
	w := p.to("alice", 1, "approve", nil).problem(403, ledger.Denied)
	if !strings.Contains(w.Detail, "can't approve it") {
		t.Fatalf("%+v", w)
	}
	if n := p.denials(); n != noted+1 {
		t.Errorf("%d denials are noted, want %d", n, noted+1)
	}
	p.to("alice", 1, "commit", nil).problem(409, ledger.Conflict)

	// Carol sees what she approves, and approves that.
	seen := p.get("carol", 1)
	p.to("carol", 1, "approve", map[string]any{}).problem(428, ledger.Invalid)
	p.to("carol", 1, "approve", map[string]any{"preview": "another"}).problem(409, ledger.Conflict)
	var after wire.Proposal
	p.to("carol", 1, "approve", map[string]any{"preview": seen.Preview.Digest, "message": "fine"}).is(200, &after)
	if after.State != ledger.Approved || after.Have != 1 || after.Answers[0].Words != "fine" {
		t.Fatalf("%+v", after)
	}
	p.to("bob", 1, "commit", nil).problem(403, ledger.Denied)
	p.to("alice", 1, "commit", map[string]any{"preview": "another"}).problem(409, ledger.Conflict)
	var c, again ledger.Change
	p.to("alice", 1, "commit", nil).is(201, &c)
	p.to("carol", 1, "commit", nil).is(200, &again)
	if c.Author != "alice" || !again.Repeated || again.Number != c.Number {
		t.Fatalf("%+v, then %+v", c, again)
	}
	if w := p.get("bob", 1); w.State != ledger.Done || w.Change != c.Number || w.Ended.By != "alice" {
		t.Fatalf("%+v", w)
	}
	var page wire.ProposalPage
	query := fmt.Sprintf("/proposals?change=%d&state=Committed", c.Number)
	p.do(call{who: "bob", method: "GET", path: query}).is(200, &page)
	if len(page.Proposals) != 1 {
		t.Fatalf("%+v", page)
	}
}

// TestProtectedTargetsTakeProposalsOnly: no way of HTTP makes a change of a target that needs approvals.
func TestProtectedTargetsTakeProposalsOnly(t *testing.T) {
	p := newProposing(t, 0)
	p.create("web", "a.example")
	p.needs(1)
	noted := p.denials()
	tries := []call{
		{who: "alice", method: "PUT", path: path("web"), body: web("web", "b.example"), header: ifMatch(`"1"`)},
		{who: "alice", method: "PATCH", path: path("web"), body: `{"spec": {"hostnames": ["b.example"]}}`,
			header: map[string]string{"If-Match": `"1"`, "Content-Type": "application/merge-patch+json"}},
		{who: "alice", method: "DELETE", path: path("web"), header: ifMatch(`"1"`)},
		{who: "alice", method: "POST", path: "/changes", body: edits(web("web", "b.example"))},
		{who: "alice", method: "POST", path: "/changes/1/undo", body: map[string]any{}},
		{who: "root", method: "POST", path: "/changes", body: edits(web("web", "b.example"))},
	}
	for _, c := range tries {
		w := p.do(c).problem(403, ledger.Denied)
		if !strings.Contains(w.Fix, "propose") || w.Object != "HTTPRoute shop/web" {
			t.Errorf("%s %s: %+v", c.method, c.path, w)
		}
	}
	if n := p.denials(); n != noted+len(tries) {
		t.Errorf("%d denials are noted, want %d", n-noted, len(tries))
	}
	p.do(call{who: "alice", method: "POST", path: "/changes?dryRun=true", body: edits(web("web", "b.example"))}).
		is(200, nil)
	if h, err := p.store.Head(t.Context()); err != nil || h.Change != 1 {
		t.Fatalf("the head is %+v, %v", h, err)
	}
	// What was taken away can be proposed, too.
	var made wire.Proposal
	p.do(call{who: "alice", method: "POST", path: "/proposals", body: raw(`{"verb": "undo", "of": 1, "edits": [
		{"delete": true, "group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "shop",
			"name": "web"}]}`)}).is(201, &made)
	p.to("carol", made.Number, "approve", nil).is(200, nil)
	var c ledger.Change
	p.to("carol", made.Number, "commit", nil).is(201, &c)
	if c.Verb != ledger.Undo || c.Edited[0].ActionWord() != "deleted" {
		t.Fatalf("%+v", c)
	}
}

func TestProposalOutdated(t *testing.T) {
	p := newProposing(t, 1)
	n := p.propose("alice", "web", "a.example").Number
	p.to("carol", n, "approve", nil).is(200, nil)
	p.outcome.Store(1)
	if w := p.to("alice", n, "commit", nil).problem(409, ledger.Conflict); !strings.Contains(w.Detail,
		"would no longer do") {
		t.Fatalf("%+v", w)
	}
	w := p.get("carol", n)
	if w.State != ledger.Outdated || w.Number != n || w.Round != 2 || len(w.Answers) != 1 || w.Have != 0 ||
		!strings.Contains(w.Preview.Clusters[0].Text, "outcome 1") {
		t.Fatalf("%+v", w)
	}
	p.to("alice", n, "commit", nil).problem(409, ledger.Conflict)
	p.to("carol", n, "approve", nil).is(200, nil)
	p.outcome.Store(2)
	var now wire.Proposal
	p.to("alice", n, "preview", nil).is(200, &now)
	if now.State != ledger.Outdated || now.Round != 3 {
		t.Fatalf("%+v", now)
	}
	p.to("bob", n, "preview", nil).problem(403, ledger.Denied)
	p.to("carol", n, "approve", nil).is(200, nil)
	p.to("alice", n, "commit", nil).is(201, nil)
}

func TestProposalOfClusterThatCantBeAsked(t *testing.T) {
	p := newProposing(t, 1)
	p.outcome.Store(-1)
	made := p.propose("alice", "web", "a.example")
	if c := made.Preview.Clusters[0]; c.NotPreviewed != "it is asleep" || c.Report != nil {
		t.Fatalf("%+v", c)
	}
	p.to("carol", made.Number, "approve", nil).is(200, nil)
	refused := p.to("alice", made.Number, "commit", nil).problem(409, ledger.NotAsked)
	if w := refused; !strings.Contains(w.Detail, "asleep") || strings.Contains(w.Fix, "without") {
		t.Fatalf("%+v", w)
	}
	p.to("alice", made.Number, "preview", nil).problem(409, ledger.NotAsked)
	if w := p.get("carol", made.Number); w.State != ledger.Approved || w.Round != 1 {
		t.Fatalf("%+v", w)
	}
	// It was approved without anybody knowing what it does, so that does not count when it is known.
	p.outcome.Store(0)
	p.to("alice", made.Number, "commit", nil).problem(409, ledger.Conflict)
	if w := p.get("carol", made.Number); w.State != ledger.Outdated {
		t.Fatalf("%+v", w)
	}
}

// TestProposersMayNotWrite: who may only propose makes no change, also where nobody has to approve.
func TestProposersMayNotWrite(t *testing.T) {
	p := newProposing(t, 0)
	p.do(call{who: "bob", method: "POST", path: "/proposals", body: edits(web("web", "a.example"))}).
		problem(403, ledger.Denied)
	p.grant("bob", ledger.MayPropose, "shop")
	n := p.propose("bob", "web", "a.example").Number
	if w := p.get("bob", n); w.State != ledger.Approved {
		t.Fatalf("%+v", w)
	}
	p.to("bob", n, "commit", nil).problem(403, ledger.Denied)
	var c ledger.Change
	p.to("alice", n, "commit", nil).is(201, &c)
	if c.Author != "bob" {
		t.Fatalf("%+v", c)
	}
	n = p.propose("bob", "web", "b.example").Number
	p.to("carol", n, "approve", nil).is(200, nil)
	p.to("bob", n, "commit", nil).is(201, nil) // somebody stands behind it
}

// TestProposalsHideWhatMayNotBeRead: values of Secrets, objects of others, and previews that tell of those.
func TestProposalsHideWhatMayNotBeRead(t *testing.T) {
	p := newProposing(t, 1)
	secret := `{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "ops"},
		"stringData": {"password": "hunter-2"}}`
	a := p.do(call{who: "alice", method: "POST", path: "/proposals", body: edits(web("web", "a.example"), secret)})
	var made wire.Proposal
	a.is(201, &made)
	for who, want := range map[string]struct{ edits, hidden, clusters int }{"alice": {2, 0, 1}, "bob": {1, 1, 0},
		"carol": {1, 1, 0}, "root": {2, 0, 1}} {
		a := p.do(call{who: who, method: "GET", path: "/proposals/1"})
		var w wire.Proposal
		a.is(200, &w)
		if len(w.Draft.Edits) != want.edits || w.Hidden != want.hidden || len(w.Preview.Clusters) != want.clusters {
			t.Errorf("%s sees %s", who, a.body)
		}
		if strings.Contains(string(a.body), "hunter-2") {
			t.Errorf("%s sees the password", who)
		}
	}
	p.to("carol", 1, "approve", nil).problem(403, ledger.Denied) // she may approve only one of them
	p.do(call{who: "root", method: "DELETE", path: "/grants/carol-approve"}).is(204, nil)
	p.do(call{who: "carol", method: "GET", path: "/proposals/1"}).problem(403, ledger.Denied)
	var page wire.ProposalPage
	p.do(call{who: "carol", method: "GET", path: "/proposals"}).is(200, &page)
	if len(page.Proposals) != 0 {
		t.Fatalf("%+v", page)
	}
	// The Secret is committed with its value.
	p.grant("carol", ledger.MayApprove)
	p.to("carol", 1, "approve", nil).is(200, nil)
	p.to("carol", 1, "commit", nil).is(201, nil)
	k := ledger.Key{Target: "default", Kind: "Secret", Namespace: "ops", Name: "login"}
	o, err := p.store.Object(t.Context(), k, 0)
	if err != nil || !strings.Contains(string(o.Content), "hunter-2") {
		t.Fatalf("%s, %v", o.Content, err)
	}
}

func TestProposalsRefuse(t *testing.T) {
	p := newProposing(t, 1)
	n := p.propose("alice", "web", "a.example").Number
	p.to("carol", n, "reject", nil).problem(422, ledger.Invalid)
	p.to("carol", n, "withdraw", nil).problem(403, ledger.Denied)
	p.to("carol", n+1, "approve", nil).problem(404, ledger.NotFound)
	p.to("east", n, "approve", nil).problem(403, ledger.Denied)
	p.to("", n, "approve", nil).problem(401, ledger.Unknown)
	p.to("carol", n, "approve", `{"preview": 7}`).problem(422, ledger.Invalid)
	p.do(call{who: "bob", method: "GET", path: "/proposals?state=Maybe"}).problem(422, ledger.Invalid)
	p.do(call{who: "bob", method: "GET", path: "/proposals/0"}).problem(422, ledger.Invalid)
	for _, more := range []string{`"head": 1`, `"dryRun": true`, `"ifPreview": "x"`} {
		body := raw(`{"edits": [{"content": ` + web("b", "b.example") + `}], ` + more + `}`)
		p.do(call{who: "alice", method: "POST", path: "/proposals", body: body}).problem(422, ledger.Invalid)
	}
	p.do(call{who: "alice", method: "POST", path: "/proposals", body: `{"edits": []}`}).problem(422, ledger.Invalid)
	var w wire.Proposal
	p.to("carol", n, "reject", map[string]any{"message": "not on a Friday"}).is(200, &w)
	if w.State != ledger.Rejected || w.Ended.Words != "not on a Friday" {
		t.Fatalf("%+v", w)
	}
	p.to("alice", n, "withdraw", nil).problem(409, ledger.Conflict)
	n = p.propose("alice", "web", "a.example").Number
	p.to("alice", n, "withdraw", map[string]any{"message": "not needed"}).is(200, &w)
	if w.State != ledger.Withdrawn {
		t.Fatalf("%+v", w)
	}
	once := call{who: "alice", method: "POST", path: "/proposals", body: edits(web("web", "a.example")),
		header: map[string]string{"Idempotency-Key": "ci-7"}}
	var first, second wire.Proposal
	p.do(once).is(201, &first)
	p.do(once).is(201, &second)
	if first.Number != second.Number {
		t.Fatalf("proposals %d and %d", first.Number, second.Number)
	}
}

func TestProposalsWithoutPreviews(t *testing.T) {
	r := newRig(t)
	r.do(call{who: "alice", method: "POST", path: "/proposals", body: edits(web("web", "a.example"))}).
		problem(409, ledger.NotAsked)
}

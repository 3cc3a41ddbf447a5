package rest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
)

// lets gives somebody permissions in a namespace.
func (r *rig) lets(who, namespace string, list ...ledger.Permission) {
	r.t.Helper()
	name := fmt.Sprint(who, "-", namespace, "-", len(list))
	r.ok(r.store.SetGrant(context.Background(), ledger.Grant{Name: name, Subjects: []string{who}, Permissions: list,
		Namespaces: []string{namespace}}, "test"))
}

// TestNobodyTriesOutValuesOfSecrets: who may write a Secret, and not read it, is not told whether a value is the one
// that it has, or had, in any way that leaves it as it is.
func TestNobodyTriesOutValuesOfSecrets(t *testing.T) {
	r := newRig(t, func(c *rest.Config) {
		made := (&requestInfo{}).previews(c.Ledger)
		c.Preview, c.Proposer = made, made
	})
	r.lets("carol", "shop", ledger.MayWrite)
	const right, wrong, other = `"data": {"pin": "MTIzNA=="}`, `"data": {"pin": "NDMyMQ=="}`, `"data": {"pin": "MQ=="}`
	put := func(who, values, query, tag string) answer {
		return r.do(call{who: who, method: "PUT", path: secretPath + query, body: secret(values), header: ifMatch(tag)})
	}
	r.do(call{who: "alice", method: "PUT", path: secretPath, body: secret(right),
		header: map[string]string{"If-None-Match": "*"}}).is(201, nil)
	draft := func(values string) wire.Draft {
		return wire.Draft{Edits: []wire.Edit{{Content: ledger.Content(secret(values))}}}
	}
	for _, values := range []string{right, wrong} {
		bound, dry := draft(values), draft(values)
		bound.IfPreview, dry.DryRun = "x", true
		put("carol", values, "?dryRun=true", `"1"`).problem(403, ledger.Denied)
		for _, c := range []call{{path: "/changes", body: dry}, {path: "/changes", body: bound},
			{path: "/changes?dryRun=true", body: draft(values)}, {path: "/preview", body: draft(values)}} {
			c.who, c.method = "carol", "POST"
			r.do(c).problem(403, ledger.Denied)
		}
		// Who may read it asks so.
		var c ledger.Change
		put("alice", values, "?dryRun=true", `"1"`).is(200, &c)
		if len(c.Edited) != map[string]int{right: 0, wrong: 1}[values] {
			t.Errorf("a dry run for who may read it: %+v", c)
		}
	}
	// What she proposes says the same of both.
	var said []string
	for _, values := range []string{right, wrong} {
		var p wire.Proposal
		r.do(call{who: "carol", method: "POST", path: "/proposals", body: draft(values)}).is(201, &p)
		said = append(said, fmt.Sprint(p.State, p.Preview.Digest, p.Preview.Clusters))
	}
	if said[0] != said[1] {
		t.Errorf("proposals say %v", said)
	}
	// Where changes need approvals, one that would change nothing is refused, too; and not of who may read it.
	protect := func(approvals int) {
		r.ok(r.store.SetTarget(t.Context(), ledger.Target{Name: "default", Server: ledger.Proxies, Approvals: approvals},
			"test"))
	}
	protect(1)
	put("carol", right, "", `"1"`).problem(403, ledger.Denied)
	put("carol", wrong, "", `"1"`).problem(403, ledger.Denied)
	put("alice", right, "", `"1"`).is(200, nil)
	protect(0)
	// A write says that there is a new generation, and not which older one it is like.
	put("carol", wrong, "", `"1"`).is(201, nil)
	var back, new ledger.Change
	put("carol", right, "", `"2"`).is(201, &back)
	put("carol", other, "", `"3"`).is(201, &new)
	for i, c := range []ledger.Change{back, new} {
		if e := c.Edited[0]; e.Revision != int64(3+i) || e.Hash != "" || e.BeforeRev != e.Before {
			t.Errorf("a write says %+v", e)
		}
	}
	put("alice", right, "", `"4"`).is(201, &back)
	if e := back.Edited[0]; e.Revision != 1 || e.Hash == "" {
		t.Errorf("to who may read it, a write says %+v", e)
	}
}

// TestDryRunsOfWhatIsNoSecret: who may write something else asks what it would change.
func TestDryRunsOfWhatIsNoSecret(t *testing.T) {
	r := newRig(t)
	r.lets("carol", "shop", ledger.MayWrite)
	r.create("web", "a.example")
	var c ledger.Change
	r.do(call{who: "carol", method: "PUT", path: path("web") + "?dryRun=true", body: web("web", "a.example"),
		header: ifMatch(`"1"`)}).is(200, &c)
	if len(c.Edited) != 0 {
		t.Errorf("%+v", c)
	}
}

// TestAuthorsOfWhatIsHidden: changes of which somebody may read nothing can't be found by who made them.
func TestAuthorsOfWhatIsHidden(t *testing.T) {
	r := newRig(t)
	commit := func(author, namespace string) {
		_, err := r.store.Commit(t.Context(), ledger.Draft{Author: author, Edits: []ledger.Edit{{Key: ledger.Key{
			Target: "default", Kind: "ConfigMap", Namespace: namespace, Name: author},
			Content: ledger.Content(fmt.Sprintf(`{"n": %q}`, author+namespace))}}})
		r.ok(err)
	}
	for _, c := range [][2]string{{"eve", "shop"}, {"eve", "pay"}, {"bob", "pay"}, {"alice", "shop"}, {"eve", "pay2"}} {
		commit(c[0], c[1])
	}
	find := func(who, query string) (numbers []int64, page wire.ChangePage) {
		r.do(call{who: who, method: "GET", path: "/changes?" + query}).is(200, &page)
		for _, c := range page.Changes {
			numbers = append(numbers, c.Number)
		}
		return numbers, page
	}
	for _, c := range []struct {
		who, query string
		want       []int64
		next       int64
	}{
		{"bob", "author=eve", []int64{1}, 0}, {"bob", "author=bob", nil, 0}, {"bob", "author=alice", []int64{4}, 0},
		{"bob", "", []int64{5, 4, 3, 2, 1}, 0}, {"carol", "author=eve", nil, 0},
		{"alice", "author=eve", []int64{5, 2, 1}, 0}, {"alice", "author=eve&limit=1", []int64{5}, 5},
		// The next page begins after what was looked at, whoever made that.
		{"bob", "author=alice&limit=1", []int64{4}, 4}, {"bob", "author=eve&limit=1&oldest=true", []int64{1}, 1},
	} {
		got, page := find(c.who, c.query)
		if !slices.Equal(got, c.want) || page.Next != c.next || page.More != (c.next != 0) {
			t.Errorf("%s finds by %s: %v, more %v after %d", c.who, c.query, got, page.More, page.Next)
		}
	}
	// What is refused is not named, either.
	for _, hidden := range []call{{method: "GET", path: "/changes/2"}, {method: "GET", path: "/changes/2/status"}} {
		hidden.who = "bob"
		if p := r.do(hidden).problem(403, ledger.Denied); strings.Contains(fmt.Sprint(p), "pay") || p.Object != "change 2" {
			t.Errorf("%s: %+v", hidden.path, p)
		}
	}
	r.lets("bob", "shop", ledger.MayRollback, ledger.MayRead)
	undo := call{who: "bob", method: "POST", path: "/changes/2/undo", body: `{}`}
	if p := r.do(undo).problem(403, ledger.Denied); strings.Contains(fmt.Sprint(p), "pay") {
		t.Errorf("an undo: %+v", p)
	}
}

// TestDenialsAreBounded: who is refused again and again fills no disk, and hides nobody else's attempts. How many were
// not noted is.
func TestDenialsAreBounded(t *testing.T) {
	r := newRig(t)
	get := func(who, name string) {
		r.do(call{who: who, method: "GET", path: path(name)}).problem(403, ledger.Denied)
	}
	noted := func() []ledger.Denial {
		list, err := r.store.Denials(t.Context(), ledger.Page{Limit: 1000})
		r.ok(err)
		return list
	}
	for range 5 {
		get("carol", "same")
	}
	get("carol", "other")
	if list := noted(); len(list) != 2 || list[0].Missed != 4 || list[1].Missed != 0 {
		t.Fatalf("the denials are %+v", list)
	}
	for i := range 150 {
		get("carol", fmt.Sprint("web", i))
	}
	get("carol", strings.Repeat("x", 100_000))
	if list := noted(); len(list) != 100 {
		t.Fatalf("%d denials are noted", len(list))
	}
	r.do(call{who: "bob", method: "DELETE", path: path("web"), header: ifMatch(`"1"`)}).problem(403, ledger.Denied)
	if list := noted(); len(list) != 101 || list[0].Subject != "bob" {
		t.Fatalf("another caller's attempt is not noted: %+v", list[0])
	}
	if v, err := r.store.Verify(t.Context()); err != nil || len(v.Wrong) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

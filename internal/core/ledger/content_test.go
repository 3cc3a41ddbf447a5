package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestContentIsWhatItsAuthorStates: what servers write is left out, and equal objects have equal contents.
func TestContentIsWhatItsAuthorStates(t *testing.T) {
	object := func(order bool) map[string]any {
		meta := map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{"a": "b"}}
		if order {
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "selfLink"} {
				meta[field] = "x"
			}
			meta["generation"], meta["managedFields"], meta["finalizers"] = int64(3), []any{}, []any{"f"}
			meta["annotations"] = map[string]any{ChangeAnnotation: "7",
				"kubectl.kubernetes.io/last-applied-configuration": "{}"}
		}
		o := map[string]any{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": meta,
			"spec": map[string]any{"hostnames": []any{"<a>&b"}}}
		if order {
			o["status"] = map[string]any{"parents": []any{}}
		}
		return o
	}
	key, plain, err := ContentOf("prod", object(false))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Key{"prod", "gateway.networking.k8s.io", "HTTPRoute", "shop", "web"}); key != want {
		t.Errorf("the key is %+v, want %+v", key, want)
	}
	if _, served, err := ContentOf("prod", object(true)); err != nil || string(served) != string(plain) ||
		served.Hash() != plain.Hash() {
		t.Errorf("as a server has it: %s (%v), want %s", served, err, plain)
	}
	if !strings.Contains(string(plain), `"<a>&b"`) {
		t.Errorf("the content escapes what needs none: %s", plain)
	}
	for _, field := range []string{"apiVersion", "kind"} {
		o := object(false)
		delete(o, field)
		if _, _, err := ContentOf("prod", o); CodeOf(err) != Invalid || !strings.Contains(err.Error(), field) {
			t.Errorf("without %s: %v", field, err)
		}
	}
}

// TestRanks: what others refer to comes first.
func TestRanks(t *testing.T) {
	order := []Key{{Kind: "Namespace"}, {Kind: "CustomResourceDefinition", Group: "apiextensions.k8s.io"},
		{Kind: "Secret"}, {Kind: "Service"},
		{Kind: "GatewayClass"}, {Kind: "XBackend"}, {Kind: "Gateway"}, {Kind: "RoutePolicy"},
		{Kind: "HTTPRoute"}}
	for i := 1; i < len(order); i++ {
		if order[i-1].ApplyRank() >= order[i].ApplyRank() {
			t.Errorf("%s does not come before %s", order[i-1].Kind, order[i].Kind)
		}
	}
}

// TestGrants: a grant lets those whom it names do what it names, with the objects that it names.
func TestGrants(t *testing.T) {
	route := Key{Target: "prod", Kind: "HTTPRoute", Namespace: "shop", Name: "web"}
	alice, shop := Caller{Subject: "alice"}, Caller{Subject: "bob", Groups: []string{"shop"}}
	for name, c := range map[string]struct {
		grant      Grant
		caller     Caller
		permission Permission
		want       bool
	}{
		"by name": {Grant{Subjects: []string{"alice"}, Permissions: []Permission{MayRead}},
			alice, MayRead, true},
		"another permission": {Grant{Subjects: []string{"alice"}, Permissions: []Permission{MayRead}},
			alice, MayWrite, false},
		"all permissions": {Grant{Subjects: []string{"alice"}, Permissions: []Permission{"*"}},
			alice, MayAdmin, true},
		"by group": {Grant{Subjects: []string{"group:shop"}, Permissions: []Permission{MayRead}},
			shop, MayRead, true},
		"a name is no group": {Grant{Subjects: []string{"group:alice"}, Permissions: []Permission{MayRead}},
			alice, MayRead, false},
		"everybody known": {Grant{Subjects: []string{"*"}, Permissions: []Permission{MayRead}},
			shop, MayRead, true},
		"another namespace": {Grant{Subjects: []string{"*"}, Permissions: []Permission{MayRead}, Namespaces: []string{"b"}},
			shop, MayRead, false},
		"another kind": {Grant{Subjects: []string{"*"}, Permissions: []Permission{MayRead}, Kinds: []string{"Gateway"}},
			shop, MayRead, false},
		"another target": {Grant{Subjects: []string{"*"}, Permissions: []Permission{MayRead}, Targets: []string{"test"}},
			shop, MayRead, false},
	} {
		if got := c.grant.AllowsObject(c.caller, c.permission, route); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestProgress: a change is as far as its object that got least far, and refused if one of them is.
func TestProgress(t *testing.T) {
	a, b := Key{Kind: "HTTPRoute", Name: "a"}, Key{Kind: "HTTPRoute", Name: "b"}
	change := Change{Number: 3,
		Edited: []Edited{{Key: a, Generation: 2, Revision: 2}, {Key: b, Generation: 1, Revision: 1}}}
	live := func(k Key, generation int64, refused string) Status {
		return Status{Key: k, Generation: generation, Newest: generation, Server: Proxies,
			Live: []Live{{Key: k, Cluster: "here", Generation: generation, Refused: refused}}}
	}
	applied := func(k Key, generation int64, code string, of ...Failed) Status {
		a := &Applied{Generation: generation, Code: code, Message: "no", Permanent: code != "" && code != Waiting}
		return Status{Key: k, Generation: generation, Newest: generation, Server: Clusters, Failures: of,
			Clusters: []InCluster{{Cluster: "east", Applied: a}}}
	}
	east := func(s Status) Status {
		s.Live = []Live{{Key: s.Key, Cluster: "east", Generation: s.Generation}}
		return s
	}
	west := func(s Status) Status {
		s.Clusters = append(s.Clusters, InCluster{Cluster: "west", Applied: &Applied{Generation: s.Generation}})
		return s
	}
	for name, c := range map[string]struct {
		list []Status
		want Stage
	}{
		"both live":      {[]Status{live(a, 2, ""), live(b, 1, "")}, IsLive},
		"one unanswered": {[]Status{live(a, 2, ""), {Key: b, Generation: 1, Newest: 1, Server: Proxies}}, Committed},
		"an older generation is live": {[]Status{live(a, 2, ""), {Key: b, Generation: 1, Newest: 1, Server: Proxies,
			Live: []Live{{Key: b, Generation: 0}}}}, Committed},
		"one refused":         {[]Status{live(a, 2, ""), live(b, 1, "too large")}, IsRefused},
		"one superseded":      {[]Status{{Key: a, Generation: 2, Newest: 3, Server: Proxies}, live(b, 1, "")}, IsLive},
		"all superseded":      {[]Status{{Key: a, Generation: 2, Newest: 3}, {Key: b, Generation: 1, Newest: 2}}, Superseded},
		"in the clusters":     {[]Status{applied(a, 2, ""), applied(b, 1, "")}, IsApplied},
		"live in the cluster": {[]Status{east(applied(a, 2, "")), east(applied(b, 1, ""))}, IsLive},
		"live in one of two":  {[]Status{west(east(applied(a, 2, ""))), east(applied(b, 1, ""))}, IsApplied},
		"a cluster refuses": {[]Status{applied(a, 2, ""),
			applied(b, 1, "Forbidden", Failed{Cluster: "east", Code: "Forbidden"})}, IsRefused},
		"it refused an older generation": {[]Status{applied(a, 2, ""), applied(b, 1, "Forbidden")}, IsApplied},
		"it waits for finalizers": {[]Status{applied(a, 2, ""),
			applied(b, 1, Waiting, Failed{Cluster: "east", Code: Waiting})}, IsApplied},
	} {
		if got, all := ProgressOf(change, c.list); got != c.want {
			t.Errorf("%s: %s (%+v), want %s", name, got, all, c.want)
		}
	}
}

// TestRefusedBefore: of what was refused and then replaced it is told that it was refused, unless it was live, or was
// only tried again.
func TestRefusedBefore(t *testing.T) {
	for name, c := range map[string]struct {
		code string
		live time.Time
		want string
	}{
		"proxies refused it":   {ByProxies, time.Time{}, "refused, superseded"},
		"a cluster refused it": {ByAPIServer, time.Time{}, "refused, superseded"},
		"it was live, too":     {ByProxies, time.Unix(0, 0), "superseded, was live since 1970-01-01 00:00:00Z"},
		"it was tried again":   {"Timeout", time.Time{}, "superseded"},
		"it waited":            {Waiting, time.Time{}, "superseded"},
	} {
		s := Status{Key: Key{Name: "a"}, Generation: 1, Newest: 2, LiveSince: c.live,
			Failures: []Failed{{Cluster: "here", Code: c.code, Message: "no"}}}
		if got := s.ProgressAt(1).String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestResolveRefuses: what a draft may not do, and that the state then stays.
func TestResolveRefuses(t *testing.T) {
	key, one, two, none := Key{Kind: "HTTPRoute", Name: "a"}, int64(1), int64(2), int64(0)
	state := func() *LedgerState {
		return &LedgerState{Head: 4, Digest: "d", Now: time.Unix(1000, 0), NewID: func() string { return "id" },
			Objects: map[Key]*ObjectState{key: {ID: "x", Generation: 2, Revision: 2, Hash: "h2", Change: 4,
				Revisions: map[string]int64{"h1": 1, "h2": 2}}}}
	}
	content := func(e Edit, hash string) []HashedEdit {
		e.Key, e.Content = key, Content("{}")
		return []HashedEdit{{e, hash}}
	}
	for name, c := range map[string]struct {
		draft Draft
		edits []HashedEdit
		code  Code
	}{
		"another generation":  {Draft{}, content(Edit{Expect: &one}, "h3"), Stale},
		"it was to be new":    {Draft{}, content(Edit{Expect: &none}, "h3"), Exists},
		"only a new one may":  {Draft{}, content(Edit{Expect: &two, Permitted: &none}, "h3"), Exists},
		"only that one may":   {Draft{}, content(Edit{Permitted: &one}, "h3"), Stale},
		"another head":        {Draft{Head: 3}, content(Edit{}, "h3"), Conflict},
		"twice in one change": {Draft{}, append(content(Edit{}, "h3"), content(Edit{}, "h4")...), Invalid},
		"no such revision":    {Draft{}, []HashedEdit{{Edit{Key: key, Revision: 9}, ""}}, NotFound},
		"nothing wanted":      {Draft{}, []HashedEdit{{Edit{Key: key}, ""}}, Invalid},
	} {
		s := state()
		if _, err := Resolve(s, c.draft, c.edits); CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
		if s.Head != 4 || s.Objects[key].Generation != 2 {
			t.Errorf("%s: the state moved on: %+v", name, s)
		}
	}
	s := state()
	w, err := Resolve(s, Draft{}, []HashedEdit{{Edit{Key: key, Revision: 1}, ""}})
	if err != nil || w.Change.Number != 5 || w.Edits[0].Generation != 3 || w.Edits[0].Revision != 1 {
		t.Errorf("back to revision 1: %+v, %v", w, err)
	}
	w, err = Resolve(s, Draft{}, content(Edit{}, "h1"))
	if err != nil || w.Change.Number != 0 || len(w.Change.Unchanged) != 1 {
		t.Errorf("as it is: %+v, %v", w, err)
	}
}

// TestErrorsAreSentences: an error names the object, the field, what is wrong and what to do.
func TestErrorsAreSentences(t *testing.T) {
	err := error(&Error{Code: Invalid, Object: "HTTPRoute shop/web", Field: "spec", Message: "is missing", Fix: "state it",
		Cause: context.Canceled})
	if got, want := err.Error(), "HTTPRoute shop/web: spec: is missing; state it"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if CodeOf(err) != Invalid || !errors.Is(err, context.Canceled) || CodeOf(context.Canceled) != "" {
		t.Error("the code or the cause is lost")
	}
}

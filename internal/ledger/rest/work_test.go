package rest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/wire"
)

// newClusters is a rig with a target "apps" that cluster east serves, and "banking" that only west does.
func newClusters(t *testing.T) *rig {
	r := newRig(t)
	token, hash := auth.MintToken()
	r.tokens["west"] = token
	r.ok(r.store.SetToken(context.Background(), ledger.Token{Name: "west", Cluster: "west", Hash: hash}, "test"))
	for path, body := range map[string]string{
		"/clusters/east":   `{"name": "east", "labels": {"zone": "e"}, "kubeconfig": "/etc/east"}`,
		"/clusters/west":   `{"name": "west", "labels": {"zone": "w"}}`,
		"/targets/apps":    `{"name": "apps", "server": "Clusters", "clusters": {"zone": "e"}}`,
		"/targets/banking": `{"name": "banking", "server": "Clusters", "clusters": {"zone": "w"}}`,
	} {
		r.do(call{who: "root", method: "PUT", path: path, body: body}).is(204, nil)
	}
	return r
}

// configMap edits a ConfigMap of a target.
func configMap(target, value string) wire.Edit {
	e := object("v1", "ConfigMap", "shop", "conf", `, "data": {"v": "`+value+`"}`)
	e.Target = target
	return e
}

type claimsOf struct{ Claims []wire.Claim }

func (r *rig) claim(cluster string) []wire.Claim {
	r.t.Helper()
	var c claimsOf
	a := r.do(call{who: cluster, method: "POST", path: "/clusters/" + cluster + "/claims",
		body: `{"worker": "w", "leaseSeconds": 60}`}).is(200, &c)
	if a.Header.Get("Cache-Control") != "no-store" {
		r.t.Error("claims may be cached")
	}
	return c.Claims
}

type takenOf struct{ Taken []bool }

func TestWorkerClaimsAppliesAndReports(t *testing.T) {
	r := newClusters(t)
	sealed := object("v1", "Secret", "shop", "key", `, "stringData": {"pin": "1234"}`)
	sealed.Target = "apps"
	r.change("alice", wire.Draft{Edits: []wire.Edit{configMap("apps", "1"), sealed}}).is(201, nil)
	claims := r.claim("east")
	if len(claims) != 2 || claims[0].Target.Name != "apps" || claims[0].Lease == 0 {
		t.Fatalf("%+v", claims)
	}
	results := []ledger.Result{}
	for _, c := range claims {
		if c.Object.Kind == "Secret" && !strings.Contains(string(c.Object.Content), "1234") {
			t.Errorf("the worker needs the value: %s", c.Object.Content)
		}
		results = append(results, ledger.Result{Object: c.Object.ID, Cluster: "elsewhere", Lease: c.Lease,
			Generation: c.Object.Generation, Revision: c.Object.Revision, UID: "u", Result: c.Object.Hash})
	}
	var taken takenOf
	record := call{who: "east", method: "POST", path: "/clusters/east/results", body: map[string]any{"results": results}}
	r.do(record).is(200, &taken)
	if len(taken.Taken) != 2 || !taken.Taken[0] || !taken.Taken[1] {
		t.Fatalf("%+v", taken)
	}
	r.do(record).is(200, &taken)
	if taken.Taken[0] {
		t.Fatal("a result counted twice")
	}
	seen := []ledger.Observation{{Object: claims[0].Object.ID, UID: "u", Generation: 1},
		{Object: claims[1].Object.ID, Generation: 1}}
	r.do(call{who: "east", method: "POST", path: "/clusters/east/observations",
		body: map[string]any{"observations": seen}}).is(204, nil)
	var status wire.ChangeStatus
	r.do(call{who: "alice", method: "GET", path: "/changes/1/status?wait=30s"}).is(200, &status)
	if status.State != "applied" || len(status.Objects) != 2 || status.Objects[0].SummaryState() != "synced" {
		t.Fatalf("%+v", status)
	}
	r.change("alice", wire.Draft{Edits: []wire.Edit{configMap("apps", "2")}}).is(201, nil)
	claims = r.claim("east")
	failed := []ledger.Failure{{Object: claims[0].Object.ID, Lease: claims[0].Lease, Generation: 2, Code: "Forbidden",
		Message: "may not", Permanent: true}}
	r.do(call{who: "east", method: "POST", path: "/clusters/east/failures", body: map[string]any{"failures": failed}}).
		is(200, &taken)
	r.do(call{who: "alice", method: "GET", path: "/changes/2/status?wait=30s"}).is(200, &status)
	if status.State != "refused" || !strings.Contains(status.Why, "may not") {
		t.Fatalf("%+v", status)
	}
	var h wire.History
	r.do(call{who: "alice", method: "GET", path: "/targets/apps/objects/ConfigMap/shop/conf/history"}).is(200, &h)
	if a := h.Status.Clusters[0].Applied; a.Message != "may not" || a.Generation != 1 ||
		len(h.Generations[0].Failures) != 1 || h.Generations[0].Failures[0].Message != "may not" {
		t.Fatalf("history does not tell the failure: %+v", h)
	}
	var due struct{ Due int }
	r.do(call{who: "alice", method: "POST", path: "/retry", body: `{"cluster": "east"}`}).is(200, &due)
	if due.Due != 1 || len(r.claim("east")) != 1 {
		t.Fatalf("%+v", due)
	}
	r.do(call{who: "alice", method: "POST", path: "/retry", body: `{"keys": [{"target": "apps", "kind": "ConfigMap",
		"namespace": "shop", "name": "conf"}]}`}).is(200, nil)
	r.do(call{who: "bob", method: "GET", path: "/status?target=apps&kind=ConfigMap&namespace=shop&name=conf"}).is(200, nil)
	r.do(call{who: "alice", method: "POST", path: "/status/query", body: `{"pending": true}`}).is(200, nil)
}

// The trap of the original: a cluster's key may write any cluster's state rows.
func TestClusterTokenIsConfinedToItsCluster(t *testing.T) {
	r := newClusters(t)
	r.change("alice", wire.Draft{Edits: []wire.Edit{configMap("apps", "1"), configMap("banking", "1")}}).is(201, nil)
	claim := r.claim("west")[0]
	live := func(cluster, target string) string {
		return `{"live": [{"target": "` + target + `", "kind": "ConfigMap", "namespace": "shop", "name": "conf",
			"cluster": "` + cluster + `", "gateway": "", "generation": 1, "proxies": 1, "refused": "no"}]}`
	}
	result := map[string]any{"results": []ledger.Result{{Object: claim.Object.ID, Cluster: "west", Lease: claim.Lease,
		Generation: 1, Revision: 1}}}
	before := r.statusOf("banking")
	for _, c := range []call{
		{method: "POST", path: "/clusters/west/claims", body: `{"worker": "w"}`},
		{method: "POST", path: "/clusters/west/results", body: result},
		{method: "POST", path: "/clusters/west/failures", body: `{"failures": []}`},
		{method: "POST", path: "/clusters/west/observations", body: `{"observations": []}`},
		{method: "GET", path: "/clusters/west"},
		{method: "PUT", path: "/clusters/west", body: `{"name": "west"}`},
		{method: "PUT", path: "/clusters/east", body: `{"name": "east"}`},
		{method: "DELETE", path: "/clusters/east"},
		{method: "POST", path: "/live", body: live("west", "banking")},
		{method: "POST", path: "/live", body: live("east", "banking")},
		{method: "POST", path: "/live", body: live("east", "nowhere")},
		{method: "GET", path: "/head"},
		{method: "GET", path: "/changes"},
		{method: "GET", path: "/watch"},
		{method: "GET", path: "/status"},
		{method: "GET", path: "/clusters"},
		{method: "GET", path: "/targets"},
		{method: "GET", path: "/targets/apps/objects"},
		{method: "GET", path: "/targets/apps/objects/ConfigMap/shop/conf"},
		{method: "POST", path: "/objects/query", body: `{}`},
		{method: "PUT", path: path("web"), body: web("web", "a"), header: map[string]string{"If-None-Match": "*"}},
		{method: "POST", path: "/changes", body: wire.Draft{Edits: []wire.Edit{editFromContent("a", "a")}}},
		{method: "GET", path: "/tokens"},
		{method: "POST", path: "/retry", body: `{}`},
		{method: "GET", path: "/verify"},
	} {
		c.who = "east"
		r.do(c).problem(403, ledger.Denied)
		list, err := r.store.Denials(context.Background(), ledger.Page{})
		r.ok(err)
		if d := newest(list); d.Subject != "cluster:east" || d.Request != c.method+" /ledger/v1"+c.path {
			t.Errorf("noted: %+v", d)
		}
	}
	// An object that it does not serve does not come to it by being seen there.
	r.do(call{who: "east", method: "POST", path: "/clusters/east/observations", body: map[string]any{"observations": []any{
		ledger.Observation{Object: claim.Object.ID, Drift: "x", Correct: true}}}}).is(204, nil)
	if list := r.claim("east"); len(list) != 1 || list[0].Object.Target != "apps" {
		t.Fatalf("cluster east claims what it does not serve: %+v", list)
	}
	// With its own path, the result of another cluster's lease counts for nothing.
	var taken takenOf
	r.do(call{who: "east", method: "POST", path: "/clusters/east/results", body: result}).is(200, &taken)
	if taken.Taken[0] {
		t.Fatal("cluster east recorded work of cluster west")
	}
	if after := r.statusOf("banking"); after != before {
		t.Fatalf("%s, before %s", after, before)
	}
	r.do(call{who: "east", method: "GET", path: "/clusters/east"}).is(200, nil)
	r.do(call{who: "east", method: "POST", path: "/live", body: live("east", "apps")}).is(204, nil)
}

func (r *rig) statusOf(target string) string {
	return string(r.do(call{who: "root", method: "GET", path: "/status?target=" + target +
		"&kind=ConfigMap&namespace=shop&name=conf"}).is(200, nil).body)
}

func TestHowClustersAreReachedIsForAdministrators(t *testing.T) {
	r := newClusters(t)
	for who, seen := range map[string]bool{"root": true, "bob": false} {
		if a := r.do(call{who: who, method: "GET", path: "/clusters"}).is(200, nil); strings.Contains(string(a.body),
			"/etc/east") != seen {
			t.Errorf("%s: %s", who, a.body)
		}
	}
	r.do(call{who: "bob", method: "GET", path: "/clusters/none"}).problem(404, ledger.NotFound)
	r.do(call{who: "root", method: "PUT", path: "/clusters/x", body: `{"name": "y"}`}).problem(422, ledger.Invalid)
	r.do(call{who: "root", method: "DELETE", path: "/clusters/west"}).is(204, nil)
	r.do(call{who: "root", method: "DELETE", path: "/clusters/west"}).problem(404, ledger.NotFound)
	r.do(call{who: "bob", method: "GET", path: "/targets"}).is(200, nil)
}

// standalone is a token of a Cardea that reads the ledger itself.
func (r *rig) standalone() {
	token, hash := auth.MintToken()
	r.tokens["alone"] = token
	r.ok(r.store.SetToken(context.Background(), ledger.Token{Name: "alone", Cluster: "alone", Hash: hash}, "test"))
}

func (r *rig) report(generation int64, refused string) {
	r.t.Helper()
	r.do(call{who: "alone", method: "POST", path: "/live", body: map[string]any{"live": []ledger.Live{{Key: ledger.Key{
		Target: "default", Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop", Name: "web"},
		Cluster: "alone", Gateway: "shop/gw", Generation: generation, Proxies: 1, Refused: refused}}}}).is(204, nil)
}

func TestWaitEndsWhenProxiesAcknowledgedOrRefused(t *testing.T) {
	r := newRig(t)
	r.standalone()
	r.create("web", "a.example")
	var status wire.ChangeStatus
	began := time.Now()
	r.do(call{who: "bob", method: "GET", path: "/changes/1/status?wait=100ms"}).is(200, &status)
	if status.State != "committed" || !strings.Contains(status.Why, "no Cardea serves target default") ||
		time.Since(began) < 100*time.Millisecond {
		t.Fatalf("%+v", status)
	}
	answers := make(chan wire.ChangeStatus)
	wait := func(n string) {
		var s wire.ChangeStatus
		r.do(call{who: "bob", method: "GET", path: "/changes/" + n + "/status?wait=60s"}).is(200, &s)
		answers <- s
	}
	go wait("1")
	r.report(1, "")
	if s := <-answers; s.State != "live" || len(s.Objects) != 1 || s.Objects[0].Live[0].Proxies != 1 {
		t.Fatalf("%+v", s)
	}
	r.do(call{who: "alice", method: "PUT", path: path("web"), body: web("web", "b.example"), header: ifMatch(`"1"`)}).
		is(201, nil)
	go wait("2")
	r.report(2, "unknown filter")
	if s := <-answers; s.State != "refused" || !strings.Contains(s.Why, "unknown filter") {
		t.Fatalf("%+v", s)
	}
	r.do(call{who: "alice", method: "POST", path: "/changes/2/undo", body: `{}`}).is(201, nil)
	why := func(n string) string {
		var s wire.ChangeStatus
		r.do(call{who: "bob", method: "GET", path: "/changes/" + n + "/status"}).is(200, &s)
		return string(s.State) + ": " + s.Why
	}
	if was := why("2"); !strings.HasPrefix(was, "superseded: refused, undone by 3: ") ||
		!strings.Contains(was, "unknown filter") {
		t.Error(was)
	}
	if was := why("1"); was != "superseded: " {
		t.Error(was)
	}
	for _, bad := range []string{"x", "-1s", "11m", "5"} {
		r.do(call{who: "bob", method: "GET", path: "/changes/1/status?wait=" + bad}).problem(422, ledger.Invalid)
	}
}

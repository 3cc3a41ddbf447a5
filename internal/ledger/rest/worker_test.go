package rest_test

import (
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// TestWorkerAsksAboutItsOwnCluster: what is applied there, what targets want of it, whether there is news; and has what
// failed there tried again. Of other clusters it learns nothing, and nobody else asks so.
func TestWorkerAsksAboutItsOwnCluster(t *testing.T) {
	r := newClusters(t)
	r.change("alice", wire.Draft{Edits: []wire.Edit{configMap("apps", "1"), configMap("banking", "1")}}).is(201, nil)
	var status struct{ Objects []ledger.Status }
	r.do(call{who: "east", method: "POST", path: "/clusters/east/status", body: `{}`}).is(200, &status)
	if len(status.Objects) != 1 || status.Objects[0].Target != "apps" || len(status.Objects[0].Clusters) != 1 {
		t.Errorf("the status is %+v", status)
	}
	r.do(call{who: "east", method: "POST", path: "/clusters/east/status", body: `{"cluster": "west"}`}).is(200, &status)
	if len(status.Objects) != 1 || status.Objects[0].Target != "apps" {
		t.Errorf("the status of another cluster is %+v", status)
	}
	var targets struct{ Targets []ledger.Target }
	r.do(call{who: "east", method: "GET", path: "/clusters/east/targets"}).is(200, &targets)
	if len(targets.Targets) != 1 || targets.Targets[0].Name != "apps" {
		t.Errorf("the targets are %+v", targets)
	}
	claim := r.claim("east")[0]
	r.do(call{who: "east", method: "POST", path: "/clusters/east/failures", body: map[string]any{
		"failures": []ledger.Failure{{Object: claim.Object.ID, Lease: claim.Lease, Generation: 1, Code: "Invalid",
			Message: "no", Permanent: true}}}}).is(200, nil)
	var due struct{ Due int }
	r.do(call{who: "east", method: "POST", path: "/clusters/east/retry", body: `{}`}).is(200, &due)
	if due.Due != 1 || len(r.claim("east")) != 1 {
		t.Errorf("%+v", due)
	}
	for _, c := range []call{
		{who: "east", method: "POST", path: "/clusters/west/status", body: `{}`},
		{who: "east", method: "POST", path: "/clusters/west/retry", body: `{}`},
		{who: "east", method: "GET", path: "/clusters/west/targets"},
		{who: "east", method: "GET", path: "/clusters/west/news"},
		{who: "root", method: "GET", path: "/clusters/east/news"},
	} {
		r.do(c).problem(403, ledger.Denied)
	}
}

// TestNewsComesAtOnce: the question is answered with the next change.
func TestNewsComesAtOnce(t *testing.T) {
	r := newClusters(t)
	r.change("alice", wire.Draft{Edits: []wire.Edit{configMap("apps", "1")}}).is(201, nil)
	var news struct{ Change int64 }
	r.do(call{who: "east", method: "GET", path: "/clusters/east/news"}).is(200, &news)
	if news.Change != 1 {
		t.Fatalf("%+v", news)
	}
	began, answered := time.Now(), make(chan struct{})
	go func() {
		defer close(answered)
		r.do(call{who: "east", method: "GET", path: "/clusters/east/news?after=1"}).is(200, &news)
	}()
	r.change("alice", wire.Draft{Edits: []wire.Edit{configMap("apps", "2")}}).is(201, nil)
	<-answered
	if news.Change != 2 || time.Since(began) > 20*time.Second {
		t.Errorf("%+v after %v", news, time.Since(began))
	}
}

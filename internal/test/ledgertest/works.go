package ledgertest

import (
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// works is what is due in clusters.
var works = map[string]func(rig){
	"backends come before routes, deletions are reversed": func(r rig) {
		r.addClusters("apps", "east")
		namespace := ledger.Key{Target: "apps", Kind: "Namespace", Name: "shop"}
		service, route := keyIn("apps", "Service", "web"), keyIn("apps", "HTTPRoute", "web")
		route.Group = routeKey("web").Group
		r.mustCommit(putEdit(route, "v1"), putEdit(service, "v1"), putEdit(namespace, "v1"))
		for _, want := range []ledger.Key{namespace, service, route} {
			c := r.claimOne("east")
			if c.Key != want {
				r.t.Fatalf("%s is due, want %s", c.Key, want)
			}
			r.recordApplied(c)
		}
		r.mustCommit(deleteEdit(route), deleteEdit(service), deleteEdit(namespace))
		for _, want := range []ledger.Key{route, service, namespace} {
			c := r.claimOne("east")
			if c.Key != want || !c.IsDeleted() {
				r.t.Fatalf("%s is due, want %s", c.Key, want)
			}
			r.recordApplied(c)
		}
	},
	"a cluster that has seen what the ledger does not have is ahead": func(r rig) {
		r.addClusters("apps", "east")
		r.mustCommit(putEdit(keyIn("apps", "ConfigMap", "web"), "v1"))
		before := r.mustHead()
		r.mustCommit(putEdit(keyIn("apps", "ConfigMap", "web"), "v2"))
		head := r.mustHead()
		later := ledger.NextEpoch(head.Epoch, 1)
		for i, c := range []struct {
			seen  ledger.Seen
			ahead bool
		}{
			{ledger.Seen{Epoch: head.Epoch, Change: head.Change, Digest: head.Digest}, false},
			{ledger.Seen{Epoch: head.Epoch, Change: before.Change, Digest: before.Digest}, false},
			{ledger.Seen{Epoch: head.Epoch, Change: head.Change + 1, Digest: "of another history"}, true},
			{ledger.Seen{Epoch: head.Epoch, Change: before.Change, Digest: "of another history"}, true},
			{ledger.Seen{Epoch: later, Change: 1, Digest: "of a later epoch"}, true},
			{ledger.Seen{Epoch: "another", Change: head.Change + 1, Digest: "of another ledger"}, false},
		} {
			list := r.mustClaim(ledger.ClaimQuery{Cluster: "east", Seen: []ledger.Seen{c.seen}})
			if len(list) != 1 || list[0].Ahead != c.ahead || list[0].Head != head {
				r.t.Fatalf("claim %d is %+v", i, list)
			}
			r.recordFailure(list[0], false)
			_, err := r.Retry(r.ctx, "east", nil)
			r.wantNoError(err)
		}
	},
	"a failed backend does not stop its change for ever": func(r rig) {
		r.addClusters("apps", "east")
		service, route := keyIn("apps", "Service", "web"), keyIn("apps", "HTTPRoute", "web")
		r.mustCommit(putEdit(service, "v1"), putEdit(route, "v1"))
		r.recordFailure(r.claimOne("east"), true)
		if c := r.claimOne("east"); c.Key != route {
			r.t.Fatalf("%s is due", c.Key)
		}
	},
	"a change that waits does not hold up others": func(r rig) {
		r.addClusters("apps", "east")
		edits := []ledger.Edit{putEdit(keyIn("apps", "Service", "web"), "v1")}
		for i := range 300 {
			edits = append(edits, putEdit(keyIn("apps", "HTTPRoute", fmt.Sprint("web-", i)), "v1"))
		}
		r.mustCommit(edits...)
		first := ledger.ClaimQuery{Cluster: "east", Max: 1, Lease: time.Minute}
		if c := r.mustClaim(first); len(c) != 1 || c[0].Kind != "Service" {
			r.t.Fatalf("due are %+v", c)
		}
		r.mustCommit(putEdit(keyIn("apps", "HTTPRoute", "other"), "v1"))
		if c := r.mustClaim(first); len(c) != 1 || c[0].Name != "other" {
			r.t.Fatalf("due are %+v", c)
		}
	},
	"what is leased keeps its lease when a newer edit comes": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		c := r.claimOne("east")
		r.mustCommit(putEdit(k, "v2"))
		if list := r.claimDue("east"); len(list) != 0 {
			r.t.Fatalf("it is due a second time: %+v", list)
		}
		r.recordApplied(c)
		if a := r.clusterStatus(k, "east"); a.Applied.Generation != 1 || a.Due.IsZero() {
			r.t.Fatalf("the status is %+v", a)
		}
		again := r.claimOne("east")
		if again.Generation != 2 || again.Applied == nil || again.Applied.Generation != 1 {
			r.t.Fatalf("the claim is %+v", again)
		}
		r.recordApplied(again)
	},
	"a worker that never answers loses its lease": func(r rig) {
		r.addClusters("apps", "east")
		r.mustCommit(putEdit(keyIn("apps", "ConfigMap", "web"), "v1"))
		lost := r.mustClaim(ledger.ClaimQuery{Cluster: "east", Worker: "lost", Lease: time.Millisecond})[0]
		var c ledger.Claim
		r.waitUntil("the lease ends", func() bool {
			list := r.claimDue("east")
			if len(list) == 1 {
				c = list[0]
			}
			return len(list) == 1
		})
		if c.Attempts != 2 || c.Lease == lost.Lease {
			r.t.Fatalf("the claim is %+v", c)
		}
		for _, answer := range []func() (bool, error){
			func() (bool, error) { return r.Record(r.ctx, appliedResult(lost)) },
			func() (bool, error) {
				return r.Fail(r.ctx, ledger.Failure{Object: lost.ID, Cluster: "east", Lease: lost.Lease, Generation: 1, Code: "X"})
			},
		} {
			if ok, err := answer(); ok || err != nil {
				r.t.Fatalf("the late answer: %v, %v", ok, err)
			}
		}
		r.recordApplied(c)
		if ok, err := r.Record(r.ctx, appliedResult(c)); ok || err != nil {
			r.t.Fatalf("the second answer: %v, %v", ok, err)
		}
	},
	"three claims without an answer are a permanent failure": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		claims := 0
		r.waitUntil("it is given up", func() bool {
			claims += len(r.mustClaim(ledger.ClaimQuery{Cluster: "east", Lease: time.Millisecond}))
			return r.mustStatus(k).SummaryState() == "error"
		})
		a := r.clusterStatus(k, "east")
		if claims != 3 || !a.Applied.Permanent || a.Applied.Message != "claimed three times and never answered" ||
			time.Until(a.Due) < 50*time.Minute {
			r.t.Fatalf("after %d claims: %+v, %+v", claims, a, a.Applied)
		}
		r.mustCommit(putEdit(k, "v2"))
		r.recordApplied(r.claimOne("east"))
	},
	"what fails is due later, what fails for ever in an hour": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		r.recordFailure(r.claimOne("east"), false)
		if due := time.Until(r.clusterStatus(k, "east").Due); due > 1100*time.Millisecond {
			r.t.Fatalf("it is due in %s", due)
		}
		_, err := r.Retry(r.ctx, "east", nil)
		r.wantNoError(err)
		r.recordFailure(r.claimOne("east"), true)
		a := r.clusterStatus(k, "east")
		if due := time.Until(a.Due); due < 50*time.Minute || due > 70*time.Minute || !a.Applied.Permanent || a.Attempts != 2 {
			r.t.Fatalf("it is due in %s: %+v", due, a)
		}
		r.mustCommit(putEdit(k, "v2"))
		r.recordApplied(r.claimOne("east"))
		if a := r.clusterStatus(k, "east").Applied; a.Code != "" || a.Permanent || a.Generation != 2 {
			r.t.Fatalf("applied is %+v", a)
		}
	},
	"a correction waits for what is being applied": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		c := r.claimOne("east")
		seen := []ledger.Observation{{Object: c.ID, Generation: 1, Drift: "data differs", By: "bob", Correct: true}}
		r.wantNoError(r.Observe(r.ctx, "east", seen))
		if list := r.claimDue("east"); len(list) != 0 {
			r.t.Fatalf("it is due a second time: %+v", list)
		}
		r.recordApplied(c)
		r.recordApplied(r.claimOne("east"))
		if list := r.claimDue("east"); len(list) != 0 {
			r.t.Fatalf("it is due a third time: %+v", list)
		}
		seen[0].After = 60
		r.wantNoError(r.Observe(r.ctx, "east", seen))
		if due := time.Until(r.clusterStatus(k, "east").Due); due < 50*time.Second || len(r.claimDue("east")) != 0 {
			r.t.Fatalf("the slow correction is due in %s", due)
		}
	},
	"what nobody knows, or comes twice, can be observed and reported": func(r rig) {
		r.addClusters("apps", "east")
		r.wantNoError(r.Observe(r.ctx, "east", []ledger.Observation{{Object: "never", Generation: 1, Correct: true}}))
		r.wantNoError(r.ReportAnswers(r.ctx, []ledger.Live{{Key: routeKey("never"), Cluster: "here", Gateway: "infra/edge",
			Generation: 1}}))
		r.wantNoError(r.Observe(r.ctx, "east", nil))
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		c := r.claimOne("east")
		r.recordApplied(c)
		r.wantNoError(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, Generation: 1, Correct: true},
			{Object: c.ID, Gone: true}, {Object: c.ID, Generation: 1, Drift: "last", Correct: true}}))
		if o := r.clusterStatus(k, "east"); o.Drift != "last" || o.Due.IsZero() {
			r.t.Fatalf("the status is %+v", o)
		}
		r.wantNoError(r.ReportAnswers(r.ctx, nil))
	},
	"live is what proxies said last of each Gateway": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		pending := func() int {
			list, err := r.Status(r.ctx, ledger.StatusQuery{Pending: true})
			r.wantNoError(err)
			return len(list)
		}
		if pending() != 1 {
			r.t.Fatal("it is not pending")
		}
		live := ledger.Live{Key: routeKey("web"), Cluster: "here", Gateway: "infra/edge", Generation: 2, Proxies: 3}
		other := ledger.Live{Key: routeKey("web"), Cluster: "here", Gateway: "infra/inner", Generation: 1, Proxies: 1}
		r.wantNoError(r.ReportAnswers(r.ctx, []ledger.Live{live, other}))
		live.Generation = 1 // late
		r.wantNoError(r.ReportAnswers(r.ctx, []ledger.Live{live}))
		s := r.mustStatus(routeKey("web"))
		if len(s.Live) != 2 || s.Live[0].Gateway != "infra/edge" || s.Live[0].Generation != 2 || s.Live[0].Proxies != 3 ||
			s.Live[1].Generation != 1 || s.Live[0].At.IsZero() || pending() != 0 {
			r.t.Fatalf("the status is %+v", s)
		}
		r.mustCommit(putEdit(routeKey("web"), "v3"))
		live.Generation, live.Refused = 3, "no such cluster"
		r.wantNoError(r.ReportAnswers(r.ctx, []ledger.Live{live}))
		s = r.mustStatus(routeKey("web"))
		if s.Live[0].Generation != 3 || s.Live[0].Refused != "no such cluster" || pending() != 1 {
			r.t.Fatalf("the status is %+v", s)
		}
	},
	"the status of a change is of what it edited": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"), putEdit(routeKey("api"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		list, err := r.Status(r.ctx, ledger.StatusQuery{Change: 1})
		r.wantNoError(err)
		if len(list) != 2 || list[1].Name != "web" || list[1].Generation != 1 || list[1].Change != 1 {
			r.t.Fatalf("the status is %+v", list)
		}
		_, err = r.Status(r.ctx, ledger.StatusQuery{Change: 9})
		r.wantCode(err, ledger.NotFound)
	},
	"two targets can't have one object in one place": func(r rig) {
		r.addClusters("one", "east")
		r.addClusters("two")
		r.mustCommit(putEdit(keyIn("one", "ConfigMap", "web"), "v1"))
		r.recordApplied(r.claimOne("east"))
		r.mustCommit(putEdit(keyIn("two", "ConfigMap", "web"), "v1"))
		c := r.claimOne("east")
		_, err := r.Record(r.ctx, appliedResult(c))
		r.wantCode(err, ledger.Conflict)
		r.recordFailure(c, true)
		if s := r.mustStatus(c.Key); s.SummaryState() != "error" {
			r.t.Fatalf("the status is %+v", s)
		}
		if s := r.mustStatus(keyIn("one", "ConfigMap", "web")); s.Clusters[0].Applied.Generation != 1 {
			r.t.Fatalf("the status is %+v", s)
		}
	},
	"a Secret is claimed with its content": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "Secret", "tls")
		r.mustCommit(putEdit(k, "v1"))
		if c := r.claimOne("east"); !sameJSON(c.Content, makeContent(k, "v1")) {
			r.t.Fatalf("the content is %s", c.Content)
		}
	},
	"a cluster that is not there has no work": func(r rig) {
		_, err := r.Claim(r.ctx, ledger.ClaimQuery{Cluster: "nowhere"})
		r.wantCode(err, ledger.NotFound)
	},
}

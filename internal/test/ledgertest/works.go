package ledgertest

import (
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// works is what is due in clusters.
var works = map[string]func(rig){
	"backends come before routes, deletions are reversed": func(r rig) {
		r.clusters("apps", "east")
		namespace := ledger.Key{Target: "apps", Kind: "Namespace", Name: "shop"}
		service, route := in("apps", "Service", "web"), in("apps", "HTTPRoute", "web")
		route.Group = key("web").Group
		r.must(put(route, "v1"), put(service, "v1"), put(namespace, "v1"))
		for _, want := range []ledger.Key{namespace, service, route} {
			c := r.one("east")
			if c.Key != want {
				r.t.Fatalf("%s is due, want %s", c.Key, want)
			}
			r.record(c)
		}
		r.must(remove(route), remove(service), remove(namespace))
		for _, want := range []ledger.Key{route, service, namespace} {
			c := r.one("east")
			if c.Key != want || !c.IsDeleted() {
				r.t.Fatalf("%s is due, want %s", c.Key, want)
			}
			r.record(c)
		}
	},
	"a cluster that has seen what the ledger does not have is ahead": func(r rig) {
		r.clusters("apps", "east")
		r.must(put(in("apps", "ConfigMap", "web"), "v1"))
		before := r.head()
		r.must(put(in("apps", "ConfigMap", "web"), "v2"))
		head := r.head()
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
			list := r.claimed(ledger.ClaimQuery{Cluster: "east", Seen: []ledger.Seen{c.seen}})
			if len(list) != 1 || list[0].Ahead != c.ahead || list[0].Head != head {
				r.t.Fatalf("claim %d is %+v", i, list)
			}
			r.fail(list[0], false)
			_, err := r.Retry(r.ctx, "east", nil)
			r.ok(err)
		}
	},
	"a failed backend does not stop its change for ever": func(r rig) {
		r.clusters("apps", "east")
		service, route := in("apps", "Service", "web"), in("apps", "HTTPRoute", "web")
		r.must(put(service, "v1"), put(route, "v1"))
		r.fail(r.one("east"), true)
		if c := r.one("east"); c.Key != route {
			r.t.Fatalf("%s is due", c.Key)
		}
	},
	"a change that waits does not hold up others": func(r rig) {
		r.clusters("apps", "east")
		edits := []ledger.Edit{put(in("apps", "Service", "web"), "v1")}
		for i := range 300 {
			edits = append(edits, put(in("apps", "HTTPRoute", fmt.Sprint("web-", i)), "v1"))
		}
		r.must(edits...)
		first := ledger.ClaimQuery{Cluster: "east", Max: 1, Lease: time.Minute}
		if c := r.claimed(first); len(c) != 1 || c[0].Kind != "Service" {
			r.t.Fatalf("due are %+v", c)
		}
		r.must(put(in("apps", "HTTPRoute", "other"), "v1"))
		if c := r.claimed(first); len(c) != 1 || c[0].Name != "other" {
			r.t.Fatalf("due are %+v", c)
		}
	},
	"what is leased keeps its lease when a newer edit comes": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		c := r.one("east")
		r.must(put(k, "v2"))
		if list := r.claim("east"); len(list) != 0 {
			r.t.Fatalf("it is due a second time: %+v", list)
		}
		r.record(c)
		if a := r.inCluster(k, "east"); a.Applied.Generation != 1 || a.Due.IsZero() {
			r.t.Fatalf("the status is %+v", a)
		}
		again := r.one("east")
		if again.Generation != 2 || again.Applied == nil || again.Applied.Generation != 1 {
			r.t.Fatalf("the claim is %+v", again)
		}
		r.record(again)
	},
	"a worker that never answers loses its lease": func(r rig) {
		r.clusters("apps", "east")
		r.must(put(in("apps", "ConfigMap", "web"), "v1"))
		lost := r.claimed(ledger.ClaimQuery{Cluster: "east", Worker: "lost", Lease: time.Millisecond})[0]
		var c ledger.Claim
		r.until("the lease ends", func() bool {
			list := r.claim("east")
			if len(list) == 1 {
				c = list[0]
			}
			return len(list) == 1
		})
		if c.Attempts != 2 || c.Lease == lost.Lease {
			r.t.Fatalf("the claim is %+v", c)
		}
		for _, answer := range []func() (bool, error){
			func() (bool, error) { return r.Record(r.ctx, applied(lost)) },
			func() (bool, error) {
				return r.Fail(r.ctx, ledger.Failure{Object: lost.ID, Cluster: "east", Lease: lost.Lease, Generation: 1, Code: "X"})
			},
		} {
			if ok, err := answer(); ok || err != nil {
				r.t.Fatalf("the late answer: %v, %v", ok, err)
			}
		}
		r.record(c)
		if ok, err := r.Record(r.ctx, applied(c)); ok || err != nil {
			r.t.Fatalf("the second answer: %v, %v", ok, err)
		}
	},
	"three claims without an answer are a permanent failure": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		claims := 0
		r.until("it is given up", func() bool {
			claims += len(r.claimed(ledger.ClaimQuery{Cluster: "east", Lease: time.Millisecond}))
			return r.status(k).State() == "error"
		})
		a := r.inCluster(k, "east")
		if claims != 3 || !a.Applied.Permanent || a.Applied.Message != "claimed three times and never answered" ||
			time.Until(a.Due) < 50*time.Minute {
			r.t.Fatalf("after %d claims: %+v, %+v", claims, a, a.Applied)
		}
		r.must(put(k, "v2"))
		r.record(r.one("east"))
	},
	"what fails is due later, what fails for ever in an hour": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		r.fail(r.one("east"), false)
		if due := time.Until(r.inCluster(k, "east").Due); due > 1100*time.Millisecond {
			r.t.Fatalf("it is due in %s", due)
		}
		_, err := r.Retry(r.ctx, "east", nil)
		r.ok(err)
		r.fail(r.one("east"), true)
		a := r.inCluster(k, "east")
		if due := time.Until(a.Due); due < 50*time.Minute || due > 70*time.Minute || !a.Applied.Permanent || a.Attempts != 2 {
			r.t.Fatalf("it is due in %s: %+v", due, a)
		}
		r.must(put(k, "v2"))
		r.record(r.one("east"))
		if a := r.inCluster(k, "east").Applied; a.Code != "" || a.Permanent || a.Generation != 2 {
			r.t.Fatalf("applied is %+v", a)
		}
	},
	"a correction waits for what is being applied": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		c := r.one("east")
		seen := []ledger.Observation{{Object: c.ID, Generation: 1, Drift: "data differs", By: "bob", Correct: true}}
		r.ok(r.Observe(r.ctx, "east", seen))
		if list := r.claim("east"); len(list) != 0 {
			r.t.Fatalf("it is due a second time: %+v", list)
		}
		r.record(c)
		r.record(r.one("east"))
		if list := r.claim("east"); len(list) != 0 {
			r.t.Fatalf("it is due a third time: %+v", list)
		}
		seen[0].After = 60
		r.ok(r.Observe(r.ctx, "east", seen))
		if due := time.Until(r.inCluster(k, "east").Due); due < 50*time.Second || len(r.claim("east")) != 0 {
			r.t.Fatalf("the slow correction is due in %s", due)
		}
	},
	"what nobody knows, or comes twice, can be observed and reported": func(r rig) {
		r.clusters("apps", "east")
		r.ok(r.Observe(r.ctx, "east", []ledger.Observation{{Object: "never", Generation: 1, Correct: true}}))
		r.ok(r.Report(r.ctx, []ledger.Live{{Key: key("never"), Cluster: "here", Gateway: "infra/edge",
			Generation: 1}}))
		r.ok(r.Observe(r.ctx, "east", nil))
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		c := r.one("east")
		r.record(c)
		r.ok(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, Generation: 1, Correct: true},
			{Object: c.ID, Gone: true}, {Object: c.ID, Generation: 1, Drift: "last", Correct: true}}))
		if o := r.inCluster(k, "east"); o.Drift != "last" || o.Due.IsZero() {
			r.t.Fatalf("the status is %+v", o)
		}
		r.ok(r.Report(r.ctx, nil))
	},
	"live is what proxies said last of each Gateway": func(r rig) {
		r.must(put(key("web"), "v1"))
		r.must(put(key("web"), "v2"))
		pending := func() int {
			list, err := r.Status(r.ctx, ledger.StatusQuery{Pending: true})
			r.ok(err)
			return len(list)
		}
		if pending() != 1 {
			r.t.Fatal("it is not pending")
		}
		live := ledger.Live{Key: key("web"), Cluster: "here", Gateway: "infra/edge", Generation: 2, Proxies: 3}
		other := ledger.Live{Key: key("web"), Cluster: "here", Gateway: "infra/inner", Generation: 1, Proxies: 1}
		r.ok(r.Report(r.ctx, []ledger.Live{live, other}))
		live.Generation = 1 // late
		r.ok(r.Report(r.ctx, []ledger.Live{live}))
		s := r.status(key("web"))
		if len(s.Live) != 2 || s.Live[0].Gateway != "infra/edge" || s.Live[0].Generation != 2 || s.Live[0].Proxies != 3 ||
			s.Live[1].Generation != 1 || s.Live[0].At.IsZero() || pending() != 0 {
			r.t.Fatalf("the status is %+v", s)
		}
		r.must(put(key("web"), "v3"))
		live.Generation, live.Refused = 3, "no such cluster"
		r.ok(r.Report(r.ctx, []ledger.Live{live}))
		s = r.status(key("web"))
		if s.Live[0].Generation != 3 || s.Live[0].Refused != "no such cluster" || pending() != 1 {
			r.t.Fatalf("the status is %+v", s)
		}
	},
	"the status of a change is of what it edited": func(r rig) {
		r.must(put(key("web"), "v1"), put(key("api"), "v1"))
		r.must(put(key("web"), "v2"))
		list, err := r.Status(r.ctx, ledger.StatusQuery{Change: 1})
		r.ok(err)
		if len(list) != 2 || list[1].Name != "web" || list[1].Generation != 1 || list[1].Change != 1 {
			r.t.Fatalf("the status is %+v", list)
		}
		_, err = r.Status(r.ctx, ledger.StatusQuery{Change: 9})
		r.code(err, ledger.NotFound)
	},
	"two targets can't have one object in one place": func(r rig) {
		r.clusters("one", "east")
		r.clusters("two")
		r.must(put(in("one", "ConfigMap", "web"), "v1"))
		r.record(r.one("east"))
		r.must(put(in("two", "ConfigMap", "web"), "v1"))
		c := r.one("east")
		_, err := r.Record(r.ctx, applied(c))
		r.code(err, ledger.Conflict)
		r.fail(c, true)
		if s := r.status(c.Key); s.State() != "error" {
			r.t.Fatalf("the status is %+v", s)
		}
		if s := r.status(in("one", "ConfigMap", "web")); s.Clusters[0].Applied.Generation != 1 {
			r.t.Fatalf("the status is %+v", s)
		}
	},
	"a Secret is claimed with its content": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "Secret", "tls")
		r.must(put(k, "v1"))
		if c := r.one("east"); !sameJSON(c.Content, content(k, "v1")) {
			r.t.Fatalf("the content is %s", c.Content)
		}
	},
	"a cluster that is not there has no work": func(r rig) {
		_, err := r.Claim(r.ctx, ledger.ClaimQuery{Cluster: "nowhere"})
		r.code(err, ledger.NotFound)
	},
}

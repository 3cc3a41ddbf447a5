package ledgertest

import (
	"cardea.dev/cardea/internal/core/ledger"
)

// seed is the seed's checklist: what the ledger has to do at least.
var seed = map[string]func(rig){
	"create gives generation 1 and revision 1": func(r rig) {
		c := r.must(put(key("web"), "v1"))
		if c.Number != 1 || len(c.Edited) != 1 || c.Edited[0].Did() != "created" || c.Author != "alice" || c.At.IsZero() {
			r.t.Fatalf("the change is %+v", c)
		}
		o := r.is(key("web"), 1, 1, "v1")
		if o.ID == "" || o.Author != "alice" || o.Message != "because" || o.Verb != ledger.Apply || !o.At.Equal(c.At) {
			r.t.Fatalf("the object is %+v", o)
		}
	},
	"update gives generation 2 and revision 2": func(r rig) {
		r.must(put(key("web"), "v1"))
		c := r.must(expecting(put(key("web"), "v2"), 1))
		if e := c.Edited[0]; e.Before != 1 || e.BeforeRev != 1 || e.Did() != "changed" {
			r.t.Fatalf("it was edited so: %+v", e)
		}
		r.is(key("web"), 2, 2, "v2")
	},
	"rollback gives generation 3 and revision 1": func(r rig) {
		r.must(put(key("web"), "v1"))
		r.must(put(key("web"), "v2"))
		r.must(toRevision(key("web"), 1))
		r.is(key("web"), 3, 1, "v1")
	},
	"delete raises the generation, and history stays": func(r rig) {
		r.must(put(key("web"), "v1"))
		c := r.must(remove(key("web")))
		if c.Edited[0].Did() != "deleted" {
			r.t.Fatalf("it was edited so: %+v", c.Edited[0])
		}
		if o := r.is(key("web"), 2, 0, ""); !o.IsDeleted() || len(o.Content) != 0 {
			r.t.Fatalf("the object is %+v", o)
		}
		r.was(key("web"), 1, 1, 1, "v1")
		history, err := r.History(r.ctx, key("web"), ledger.Page{})
		r.ok(err)
		if len(history) != 2 || history[0].Generation != 2 || history[1].Generation != 1 {
			r.t.Fatalf("the history is %+v", history)
		}
	},
	"each edit makes an object due, each record has it done": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		if s := r.status(k); s.State() != "out-of-sync" {
			r.t.Fatalf("it is %s", s.State())
		}
		c := r.one("east")
		if c.Generation != 1 || c.Attempts != 1 || !sameJSON(c.Content, content(k, "v1")) || c.Applied != nil {
			r.t.Fatalf("the claim is %+v", c)
		}
		r.record(c)
		if s := r.status(k); s.State() != "pending" || s.Clusters[0].Applied.Generation != 1 || !s.Clusters[0].Due.IsZero() {
			r.t.Fatalf("it is %s: %+v", s.State(), s)
		}
		r.ok(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, UID: "u", Generation: 1, Result: c.Hash}}))
		if s := r.status(k); s.State() != "synced" {
			r.t.Fatalf("it is %s: %+v", s.State(), s)
		}
		if list := r.claim("east"); len(list) != 0 {
			r.t.Fatalf("still due: %+v", list)
		}
	},
	"drift is corrected": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		c := r.one("east")
		r.record(c)
		r.ok(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, Generation: 1, Drift: "data.version differs",
			By: "kubectl-edit", Correct: true}}))
		s := r.status(k)
		if s.State() != "out-of-sync" || s.Clusters[0].Drift == "" || s.Clusters[0].DriftBy != "kubectl-edit" {
			r.t.Fatalf("it is %s: %+v", s.State(), s)
		}
		again := r.one("east")
		if again.ID != c.ID || again.Applied == nil || again.Applied.UID != "uid-"+c.ID {
			r.t.Fatalf("the claim is %+v", again)
		}
		r.record(again)
	},
	"an error leaves the applied generation as it was": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		r.record(r.one("east"))
		r.must(put(k, "v2"))
		r.fail(r.one("east"), false)
		s := r.status(k)
		a := s.Clusters[0].Applied
		if s.State() != "error" || a.Generation != 1 || a.Revision != 1 || a.Code != "Forbidden" || a.Message != "may not" ||
			s.Clusters[0].Due.IsZero() {
			r.t.Fatalf("it is %s: %+v, %+v", s.State(), s.Clusters[0], a)
		}
		if n, err := r.Retry(r.ctx, "east", []ledger.Key{k}); n != 1 || err != nil {
			r.t.Fatalf("Retry = %d, %v", n, err)
		}
		r.record(r.one("east"))
		if a := r.inCluster(k, "east").Applied; a.Generation != 2 || a.Code != "" {
			r.t.Fatalf("applied is %+v", a)
		}
	},
	"a deleted object's state goes when it is gone from the cluster": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		r.record(r.one("east"))
		r.must(remove(k))
		if s := r.status(k); s.State() != "deleting" {
			r.t.Fatalf("it is %s", s.State())
		}
		c := r.one("east")
		if !c.IsDeleted() || c.Applied == nil || c.Applied.UID == "" {
			r.t.Fatalf("the claim is %+v", c)
		}
		r.record(c)
		if a := r.inCluster(k, "east").Applied; a != nil {
			r.t.Fatalf("applied is %+v", a)
		}
		list, err := r.Status(r.ctx, ledger.StatusQuery{})
		r.ok(err)
		if len(list) != 0 {
			r.t.Fatalf("the status still has %+v", list)
		}
		r.was(k, 1, 1, 1, "v1")
	},
}

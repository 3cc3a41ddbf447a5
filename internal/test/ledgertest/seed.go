package ledgertest

import (
	"cardea.dev/cardea/internal/core/ledger"
)

// seed is the seed's checklist: what the ledger has to do at least.
var seed = map[string]func(rig){
	"create gives generation 1 and revision 1": func(r rig) {
		c := r.mustCommit(putEdit(routeKey("web"), "v1"))
		if c.Number != 1 || len(c.Edited) != 1 || c.Edited[0].ActionWord() != "created" || c.Author != "alice" ||
			c.At.IsZero() {
			r.t.Fatalf("the change is %+v", c)
		}
		o := r.wantObject(routeKey("web"), 1, 1, "v1")
		if o.ID == "" || o.Author != "alice" || o.Message != "because" || o.Verb != ledger.Apply || !o.At.Equal(c.At) {
			r.t.Fatalf("the object is %+v", o)
		}
	},
	"update gives generation 2 and revision 2": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		c := r.mustCommit(expectGeneration(putEdit(routeKey("web"), "v2"), 1))
		if e := c.Edited[0]; e.Before != 1 || e.BeforeRev != 1 || e.ActionWord() != "changed" {
			r.t.Fatalf("it was edited so: %+v", e)
		}
		r.wantObject(routeKey("web"), 2, 2, "v2")
	},
	"rollback gives generation 3 and revision 1": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		r.mustCommit(revisionEdit(routeKey("web"), 1))
		r.wantObject(routeKey("web"), 3, 1, "v1")
	},
	"delete raises the generation, and history stays": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		c := r.mustCommit(deleteEdit(routeKey("web")))
		if c.Edited[0].ActionWord() != "deleted" {
			r.t.Fatalf("it was edited so: %+v", c.Edited[0])
		}
		if o := r.wantObject(routeKey("web"), 2, 0, ""); !o.IsDeleted() || len(o.Content) != 0 {
			r.t.Fatalf("the object is %+v", o)
		}
		r.wantObjectAt(routeKey("web"), 1, 1, 1, "v1")
		history, err := r.History(r.ctx, routeKey("web"), ledger.Page{})
		r.wantNoError(err)
		if len(history) != 2 || history[0].Generation != 2 || history[1].Generation != 1 {
			r.t.Fatalf("the history is %+v", history)
		}
	},
	"each edit makes an object due, each record has it done": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		if s := r.mustStatus(k); s.SummaryState() != "out-of-sync" {
			r.t.Fatalf("it is %s", s.SummaryState())
		}
		c := r.claimOne("east")
		if c.Generation != 1 || c.Attempts != 1 || !sameJSON(c.Content, makeContent(k, "v1")) || c.Applied != nil {
			r.t.Fatalf("the claim is %+v", c)
		}
		r.recordApplied(c)
		if s := r.mustStatus(k); s.SummaryState() != "pending" || s.Clusters[0].Applied.Generation != 1 ||
			!s.Clusters[0].Due.IsZero() {
			r.t.Fatalf("it is %s: %+v", s.SummaryState(), s)
		}
		r.wantNoError(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, UID: "u", Generation: 1, Result: c.Hash}}))
		if s := r.mustStatus(k); s.SummaryState() != "synced" {
			r.t.Fatalf("it is %s: %+v", s.SummaryState(), s)
		}
		if list := r.claimDue("east"); len(list) != 0 {
			r.t.Fatalf("still due: %+v", list)
		}
	},
	"drift is corrected": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		c := r.claimOne("east")
		r.recordApplied(c)
		r.wantNoError(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, Generation: 1,
			Drift: "data.version differs",
			By:    "kubectl-edit", Correct: true}}))
		s := r.mustStatus(k)
		if s.SummaryState() != "out-of-sync" || s.Clusters[0].Drift == "" || s.Clusters[0].DriftBy != "kubectl-edit" {
			r.t.Fatalf("it is %s: %+v", s.SummaryState(), s)
		}
		again := r.claimOne("east")
		if again.ID != c.ID || again.Applied == nil || again.Applied.UID != "uid-"+c.ID {
			r.t.Fatalf("the claim is %+v", again)
		}
		r.recordApplied(again)
	},
	"an error leaves the applied generation as it was": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		r.recordApplied(r.claimOne("east"))
		r.mustCommit(putEdit(k, "v2"))
		r.recordFailure(r.claimOne("east"), false)
		s := r.mustStatus(k)
		a := s.Clusters[0].Applied
		if s.SummaryState() != "error" || a.Generation != 1 || a.Revision != 1 || a.Code != "Forbidden" ||
			a.Message != "may not" ||
			s.Clusters[0].Due.IsZero() {
			r.t.Fatalf("it is %s: %+v, %+v", s.SummaryState(), s.Clusters[0], a)
		}
		if n, err := r.Retry(r.ctx, "east", []ledger.Key{k}); n != 1 || err != nil {
			r.t.Fatalf("Retry = %d, %v", n, err)
		}
		r.recordApplied(r.claimOne("east"))
		if a := r.clusterStatus(k, "east").Applied; a.Generation != 2 || a.Code != "" {
			r.t.Fatalf("applied is %+v", a)
		}
	},
	"a deleted object's state goes when it is gone from the cluster": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		r.recordApplied(r.claimOne("east"))
		r.mustCommit(deleteEdit(k))
		if s := r.mustStatus(k); s.SummaryState() != "deleting" {
			r.t.Fatalf("it is %s", s.SummaryState())
		}
		c := r.claimOne("east")
		if !c.IsDeleted() || c.Applied == nil || c.Applied.UID == "" {
			r.t.Fatalf("the claim is %+v", c)
		}
		r.recordApplied(c)
		if a := r.clusterStatus(k, "east").Applied; a != nil {
			r.t.Fatalf("applied is %+v", a)
		}
		list, err := r.Status(r.ctx, ledger.StatusQuery{})
		r.wantNoError(err)
		if len(list) != 0 {
			r.t.Fatalf("the status still has %+v", list)
		}
		r.wantObjectAt(k, 1, 1, 1, "v1")
	},
}

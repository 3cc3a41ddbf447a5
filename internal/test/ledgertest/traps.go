package ledgertest

import (
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// traps are where the seed's own program breaks its promises.
var traps = map[string]func(rig){
	"rollback brings the content back without sending it": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		c := r.mustCommit(revisionEdit(routeKey("web"), 1))
		if e := c.Edited[0]; e.Revision != 1 || e.Generation != 3 || e.BeforeRev != 2 {
			r.t.Fatalf("it was edited so: %+v", e)
		}
		r.wantObject(routeKey("web"), 3, 1, "v1")
	},
	"a revision number never gets two contents": func(r rig) {
		k := routeKey("web")
		r.mustCommit(putEdit(k, "v1"))
		r.mustCommit(putEdit(k, "v2"))
		r.mustCommit(putEdit(k, "v3"))
		r.mustCommit(revisionEdit(k, 2))
		r.mustCommit(putEdit(k, "v4"))
		r.wantObject(k, 5, 5, "v4")
		contents := map[int64]string{}
		for at := int64(1); at <= 5; at++ {
			o := r.mustObject(k, at)
			if text, seen := contents[o.Revision]; seen && text != string(o.Content) {
				r.t.Fatalf("revision %d is %s and %s", o.Revision, text, o.Content)
			}
			contents[o.Revision] = string(o.Content)
		}
		if len(contents) != 4 {
			r.t.Fatalf("there are %d revisions, want 4", len(contents))
		}
	},
	"content that comes again has the revision that it had": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.wantObject(routeKey("web"), 3, 1, "v1")
	},
	"an object deleted in the cluster is made again": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		c := r.claimOne("east")
		r.recordApplied(c)
		r.wantNoError(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, Generation: 1}}))
		r.wantNoError(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, Gone: true, Correct: true}}))
		if o := r.clusterStatus(k, "east"); o.Observed != 0 || o.Due.IsZero() {
			r.t.Fatalf("the status is %+v", o)
		}
		r.recordApplied(r.claimOne("east"))
	},
	"whoever removes the annotations hides nothing": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		c := r.claimOne("east")
		r.recordApplied(c)
		r.wantNoError(r.Observe(r.ctx, "east", []ledger.Observation{{Object: c.ID, UID: "u", Drift: "it has no annotations",
			Correct: true}}))
		if s := r.mustStatus(k); s.SummaryState() != "out-of-sync" {
			r.t.Fatalf("it is %s", s.SummaryState())
		}
		r.recordApplied(r.claimOne("east"))
	},
	"an old generation never overtakes a newer one": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		slow := r.mustClaim(ledger.ClaimQuery{Cluster: "east", Worker: "slow", Lease: time.Millisecond})[0]
		r.mustCommit(putEdit(k, "v2"))
		var fast ledger.Claim
		r.waitUntil("the lease ends", func() bool {
			list := r.claimDue("east")
			if len(list) == 1 {
				fast = list[0]
			}
			return len(list) == 1
		})
		r.recordApplied(fast)
		if ok, err := r.Record(r.ctx, appliedResult(slow)); ok || err != nil {
			r.t.Fatalf("the late worker's record: %v, %v", ok, err)
		}
		if a := r.clusterStatus(k, "east").Applied; a.Generation != 2 {
			r.t.Fatalf("applied is %+v", a)
		}
	},
	"hundred failing objects never hold up a good one": func(r rig) {
		r.addClusters("apps", "east")
		for i := range 100 {
			r.mustCommit(putEdit(keyIn("apps", "ConfigMap", fmt.Sprintf("bad-%03d", i)), "v1"))
		}
		r.mustCommit(putEdit(keyIn("apps", "ConfigMap", "good"), "v1"))
		done := false
		r.waitUntil("the good one is applied", func() bool {
			for _, c := range r.claimDue("east") {
				if c.Name == "good" {
					r.recordApplied(c)
					done = true
				} else {
					r.recordFailure(c, false)
				}
			}
			return done
		})
		// Again, when all of the bad ones are due.
		r.mustCommit(putEdit(keyIn("apps", "ConfigMap", "good"), "v2"))
		if _, err := r.Retry(r.ctx, "east", nil); err != nil {
			r.t.Fatal(err)
		}
		rounds := 0
		for done = false; !done; rounds++ {
			for _, c := range r.claimDue("east") {
				if c.Name == "good" {
					r.recordApplied(c)
					done = true
				} else {
					r.recordFailure(c, true)
				}
			}
			if rounds > 5 {
				r.t.Fatal("the good one is not due after 5 claims")
			}
		}
	},
	"delete then create under the same name is one object": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		first := r.mustCommit(putEdit(k, "v1")).Edited[0].ID
		r.recordApplied(r.claimOne("east"))
		r.mustCommit(deleteEdit(k))
		gone := r.claimOne("east")
		again := r.mustCommit(expectGeneration(putEdit(k, "v2"), 0)).Edited[0]
		if again.ID != first || again.Generation != 3 || again.ActionWord() != "created" {
			r.t.Fatalf("it was made again so: %+v, was %s", again, first)
		}
		// The deletion that was under way is recorded, and takes nothing of the new one.
		if ok, err := r.Record(r.ctx, appliedResult(gone)); !ok || err != nil {
			r.t.Fatalf("Record = %v, %v", ok, err)
		}
		c := r.claimOne("east")
		if c.Generation != 3 || c.IsDeleted() || c.Applied != nil {
			r.t.Fatalf("the claim is %+v", c)
		}
		r.recordApplied(c)
		r.wantObject(k, 3, 3, "v2")
	},
	"a deleted object is not gone before it was seen to be": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		r.recordApplied(r.claimOne("east"))
		r.mustCommit(deleteEdit(k))
		r.recordFailure(r.claimOne("east"), false) // a finalizer holds it
		if s := r.mustStatus(k); !s.Deleted || s.Clusters[0].Applied == nil || s.Clusters[0].Due.IsZero() {
			r.t.Fatalf("the status is %+v", s)
		}
	},
	"a global object is updated in each cluster": func(r rig) {
		r.addClusters("all", "east", "west")
		k := keyIn("all", "ConfigMap", "web")
		for generation := int64(1); generation <= 3; generation++ {
			r.mustCommit(putEdit(k, fmt.Sprint("v", generation)))
			for _, cluster := range []string{"east", "west"} {
				c := r.claimOne(cluster)
				if c.Generation != generation {
					r.t.Fatalf("%s gets generation %d, want %d", cluster, c.Generation, generation)
				}
				r.recordApplied(c)
			}
		}
	},
	"any kind can be kept": func(r rig) {
		r.addClusters("apps", "east")
		k := ledger.Key{Target: "apps", Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
		r.mustCommit(putEdit(k, "v1"))
		r.recordApplied(r.claimOne("east"))
	},
}

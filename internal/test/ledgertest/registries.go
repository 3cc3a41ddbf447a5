package ledgertest

import (
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// registries is targets and clusters.
var registries = map[string]func(rig){
	"the default target is there from the start": func(r rig) {
		list, err := r.Targets(r.ctx)
		r.wantNoError(err)
		if len(list) != 1 || list[0].Name != ledger.DefaultTarget || list[0].Server != ledger.Proxies {
			r.t.Fatalf("the targets are %+v", list)
		}
	},
	"targets and clusters are kept as they were set": func(r rig) {
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		t := ledger.Target{Name: "apps", Server: ledger.Clusters, Clusters: map[string]string{"region": "eu"},
			Drift: ledger.DriftReport, Existing: ledger.ExistingAdopt, Retain: true, PausedUntil: until}
		c := ledger.Cluster{Name: "east", Labels: map[string]string{"region": "eu"}, Kubeconfig: "/k", Context: "c",
			Admin: "http://east"}
		r.wantNoError(r.SetTarget(r.ctx, t, "alice"))
		r.wantNoError(r.SetCluster(r.ctx, c, "alice"))
		targets, err := r.Targets(r.ctx)
		r.wantNoError(err)
		clusters, err := r.Clusters(r.ctx)
		r.wantNoError(err)
		got := targets[0]
		if len(targets) != 2 || got.Name != t.Name || got.Clusters["region"] != "eu" || got.Drift != t.Drift || !got.Retain ||
			got.Existing != t.Existing || !got.PausedUntil.Equal(until) {
			r.t.Fatalf("the targets are %+v", targets)
		}
		if len(clusters) != 1 || clusters[0].Admin != c.Admin || clusters[0].Labels["region"] != "eu" ||
			clusters[0].Kubeconfig != "/k" || !clusters[0].Seen.IsZero() {
			r.t.Fatalf("the clusters are %+v", clusters)
		}
		r.claimDue("east")
		clusters, err = r.Clusters(r.ctx)
		r.wantNoError(err)
		if time.Since(clusters[0].Seen) > time.Minute {
			r.t.Fatalf("it was seen at %s", clusters[0].Seen)
		}
	},
	"a bad target is refused": func(r rig) {
		for field, t := range map[string]ledger.Target{
			"name": {Server: ledger.Clusters}, "server": {Name: "a"},
			"drift":    {Name: "a", Server: ledger.Clusters, Drift: "No"},
			"existing": {Name: "a", Server: ledger.Clusters, Existing: "No"},
		} {
			if e := r.wantCode(r.SetTarget(r.ctx, t, "alice"), ledger.Invalid); e.Field != field {
				r.t.Errorf("the error is %v, want of %s", e, field)
			}
		}
		r.wantCode(r.DeleteCluster(r.ctx, "nowhere", "alice"), ledger.NotFound)
	},
	"objects become due in a cluster that joins": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"), putEdit(keyIn("apps", "ConfigMap", "gone"), "v1"))
		r.mustCommit(deleteEdit(keyIn("apps", "ConfigMap", "gone")))
		r.wantNoError(r.SetCluster(r.ctx, ledger.Cluster{Name: "west"}, "alice"))
		c := r.claimOne("west")
		if c.Key != k {
			r.t.Fatalf("due is %s", c.Key)
		}
		r.recordApplied(c)
		r.mustCommit(putEdit(k, "v2"))
		r.recordApplied(r.claimOne("west"))
	},
	"objects are given up in a cluster that leaves": func(r rig) {
		r.wantNoError(r.SetTarget(r.ctx, ledger.Target{Name: "apps", Server: ledger.Clusters,
			Clusters: map[string]string{"region": "eu"}}, "alice"))
		eu := ledger.Cluster{Name: "east", Labels: map[string]string{"region": "eu"}}
		r.wantNoError(r.SetCluster(r.ctx, eu, "alice"))
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		r.recordApplied(r.claimOne("east"))
		r.mustCommit(putEdit(k, "v2"))
		late := r.claimOne("east")
		r.wantNoError(r.SetCluster(r.ctx, ledger.Cluster{Name: "east"}, "alice"))
		if s := r.mustStatus(k); len(s.Clusters) != 0 {
			r.t.Fatalf("the status is %+v", s)
		}
		if ok, err := r.Record(r.ctx, appliedResult(late)); ok || err != nil {
			r.t.Fatalf("what is late is recorded: %v, %v", ok, err)
		}
		r.wantNoError(r.SetCluster(r.ctx, eu, "alice"))
		if c := r.claimOne("east"); c.Applied != nil {
			r.t.Fatalf("it was forgotten, but the claim has %+v", c.Applied)
		}
		r.wantNoError(r.DeleteCluster(r.ctx, "east", "alice"))
		_, err := r.Claim(r.ctx, ledger.ClaimQuery{Cluster: "east"})
		r.wantCode(err, ledger.NotFound)
		r.mustCommit(putEdit(k, "v3"))
	},
	"a paused target's objects are not due": func(r rig) {
		r.addClusters("apps", "east")
		r.addClusters("other")
		t := ledger.Target{Name: "apps", Server: ledger.Clusters, PausedUntil: time.Now().Add(time.Hour)}
		r.wantNoError(r.SetTarget(r.ctx, t, "alice"))
		r.mustCommit(putEdit(keyIn("apps", "ConfigMap", "web"), "v1"), putEdit(keyIn("other", "ConfigMap", "api"), "v1"))
		if c := r.claimOne("east"); c.Target.Name != "other" || c.Name != "api" {
			r.t.Fatalf("due is %+v", c)
		}
		t.PausedUntil = time.Time{}
		r.wantNoError(r.SetTarget(r.ctx, t, "alice"))
		if c := r.claimOne("east"); c.Name != "web" {
			r.t.Fatalf("due is %+v", c)
		}
	},
	"another policy of a target has failures tried again": func(r rig) {
		r.addClusters("apps", "east")
		r.mustCommit(putEdit(keyIn("apps", "ConfigMap", "web"), "v1"))
		r.recordFailure(r.claimOne("east"), true)
		t := ledger.Target{Name: "apps", Server: ledger.Clusters, Existing: ledger.ExistingAdopt}
		r.wantNoError(r.SetTarget(r.ctx, t, "alice"))
		if c := r.claimOne("east"); c.Target.Existing != ledger.ExistingAdopt {
			r.t.Fatalf("the claim is %+v", c)
		}
	},
}

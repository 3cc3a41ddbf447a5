package ledgertest

import (
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// registries is targets and clusters.
var registries = map[string]func(rig){
	"the default target is there from the start": func(r rig) {
		list, err := r.Targets(r.ctx)
		r.ok(err)
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
		r.ok(r.SetTarget(r.ctx, t, "alice"))
		r.ok(r.SetCluster(r.ctx, c, "alice"))
		targets, err := r.Targets(r.ctx)
		r.ok(err)
		clusters, err := r.Clusters(r.ctx)
		r.ok(err)
		got := targets[0]
		if len(targets) != 2 || got.Name != t.Name || got.Clusters["region"] != "eu" || got.Drift != t.Drift || !got.Retain ||
			got.Existing != t.Existing || !got.PausedUntil.Equal(until) {
			r.t.Fatalf("the targets are %+v", targets)
		}
		if len(clusters) != 1 || clusters[0].Admin != c.Admin || clusters[0].Labels["region"] != "eu" ||
			clusters[0].Kubeconfig != "/k" || !clusters[0].Seen.IsZero() {
			r.t.Fatalf("the clusters are %+v", clusters)
		}
		r.claim("east")
		clusters, err = r.Clusters(r.ctx)
		r.ok(err)
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
			if e := r.code(r.SetTarget(r.ctx, t, "alice"), ledger.Invalid); e.Field != field {
				r.t.Errorf("the error is %v, want of %s", e, field)
			}
		}
		r.code(r.DeleteCluster(r.ctx, "nowhere", "alice"), ledger.NotFound)
	},
	"objects become due in a cluster that joins": func(r rig) {
		r.clusters("apps", "east")
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"), put(in("apps", "ConfigMap", "gone"), "v1"))
		r.must(remove(in("apps", "ConfigMap", "gone")))
		r.ok(r.SetCluster(r.ctx, ledger.Cluster{Name: "west"}, "alice"))
		c := r.one("west")
		if c.Key != k {
			r.t.Fatalf("due is %s", c.Key)
		}
		r.record(c)
		r.must(put(k, "v2"))
		r.record(r.one("west"))
	},
	"objects are given up in a cluster that leaves": func(r rig) {
		r.ok(r.SetTarget(r.ctx, ledger.Target{Name: "apps", Server: ledger.Clusters,
			Clusters: map[string]string{"region": "eu"}}, "alice"))
		eu := ledger.Cluster{Name: "east", Labels: map[string]string{"region": "eu"}}
		r.ok(r.SetCluster(r.ctx, eu, "alice"))
		k := in("apps", "ConfigMap", "web")
		r.must(put(k, "v1"))
		r.record(r.one("east"))
		r.must(put(k, "v2"))
		late := r.one("east")
		r.ok(r.SetCluster(r.ctx, ledger.Cluster{Name: "east"}, "alice"))
		if s := r.status(k); len(s.Clusters) != 0 {
			r.t.Fatalf("the status is %+v", s)
		}
		if ok, err := r.Record(r.ctx, applied(late)); ok || err != nil {
			r.t.Fatalf("what is late is recorded: %v, %v", ok, err)
		}
		r.ok(r.SetCluster(r.ctx, eu, "alice"))
		if c := r.one("east"); c.Applied != nil {
			r.t.Fatalf("it was forgotten, but the claim has %+v", c.Applied)
		}
		r.ok(r.DeleteCluster(r.ctx, "east", "alice"))
		_, err := r.Claim(r.ctx, ledger.ClaimQuery{Cluster: "east"})
		r.code(err, ledger.NotFound)
		r.must(put(k, "v3"))
	},
	"a paused target's objects are not due": func(r rig) {
		r.clusters("apps", "east")
		r.clusters("other")
		t := ledger.Target{Name: "apps", Server: ledger.Clusters, PausedUntil: time.Now().Add(time.Hour)}
		r.ok(r.SetTarget(r.ctx, t, "alice"))
		r.must(put(in("apps", "ConfigMap", "web"), "v1"), put(in("other", "ConfigMap", "api"), "v1"))
		if c := r.one("east"); c.Target.Name != "other" || c.Name != "api" {
			r.t.Fatalf("due is %+v", c)
		}
		t.PausedUntil = time.Time{}
		r.ok(r.SetTarget(r.ctx, t, "alice"))
		if c := r.one("east"); c.Name != "web" {
			r.t.Fatalf("due is %+v", c)
		}
	},
	"another policy of a target has failures tried again": func(r rig) {
		r.clusters("apps", "east")
		r.must(put(in("apps", "ConfigMap", "web"), "v1"))
		r.fail(r.one("east"), true)
		t := ledger.Target{Name: "apps", Server: ledger.Clusters, Existing: ledger.ExistingAdopt}
		r.ok(r.SetTarget(r.ctx, t, "alice"))
		if c := r.one("east"); c.Target.Existing != ledger.ExistingAdopt {
			r.t.Fatalf("the claim is %+v", c)
		}
	},
}

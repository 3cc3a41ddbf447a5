package kube

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

const (
	poolDefinition = "inferencepools.inference.networking.k8s.io"
	poolObject     = `
apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: models, namespace: "%s"}
spec: {selector: {matchLabels: {app: models}}, targetPorts: [{number: 8000}]}
`
)

// TestDefinitionsOfOthers: a definition of another project that is absent or older than what is read is told, what else
// there is is read meanwhile, and it is read as soon as it is as new. One that is newer is none of these.
func TestDefinitionsOfOthers(t *testing.T) {
	p := newPlace(t)
	p.uninstall(poolDefinition)
	t.Cleanup(p.install)
	p.apply(shopObjects)
	r := p.read().synced()
	await(r, r.sources.HTTPRoutes, p.ref(model.KindHTTPRoute, "shop"), anyway)
	pool := model.Definition{Name: poolDefinition, Origin: model.ThirdPartyOrigin, Reads: "v1"}
	with := func(change func(*model.Definition)) []model.Definition {
		d := pool
		change(&d)
		return []model.Definition{d}
	}
	r.wantDefinitions("absent", with(func(d *model.Definition) { d.Absent = true }))

	p.definePools(func(spec map[string]any) {
		spec["versions"].([]any)[0].(map[string]any)["name"] = "v1alpha1"
	})
	r.wantDefinitions("an older version", with(func(d *model.Definition) { d.Serves, d.NotServed = "v1alpha1", true }))
	p.uninstall(poolDefinition)

	p.definePools(func(spec map[string]any) { delete(poolFields(spec), "appProtocol") })
	r.wantDefinitions("a field less", with(func(d *model.Definition) { d.Serves, d.Lacks = "v1", "spec.appProtocol" }))
	p.apply(poolObject)
	await(r, r.sources.InferencePools, p.ref(model.KindInferencePool, "models"), anyway)

	p.definePools(func(spec map[string]any) {
		poolFields(spec)["flavour"] = map[string]any{"type": "string"}
	})
	r.wantDefinitions("newer", nil)
	await(r, r.sources.InferencePools, p.ref(model.KindInferencePool, "models"), anyway)
}

// TestDefinitionEdited: what an API server hands out by a definition that was edited is read, however late it takes the
// edit.
func TestDefinitionEdited(t *testing.T) {
	p := newPlace(t)
	t.Cleanup(func() {
		p.uninstall(poolDefinition)
		p.install()
	})
	var ahead atomic.Int64
	began, registry := time.Now(), prometheus.NewRegistry()
	r := p.read(func(c *Config) {
		c.Metrics = registry
		c.Now = func() time.Time { return began.Add(time.Duration(ahead.Load())) }
	}).synced()
	lists := func() float64 { return metricsOf(t, registry, "InferencePool")["cardea_kube_lists_total"] }
	before := lists()
	p.definePools(func(spec map[string]any) {
		delete(poolFields(spec), "appProtocol")
		poolFields(spec)["flavour"] = map[string]any{"type": "string"}
	})
	edited := strings.Replace(poolObject, "spec: {", "spec: {flavour: sweet, ", 1)
	eventually(t, func() error {
		if err := p.Apply(context.Background(), []byte(p.path(edited))); err != nil {
			return err
		}
		kept, err := p.Client.RESTClient().Get().AbsPath(p.path("/apis/inference.networking.k8s.io/v1/namespaces/%s/" +
			"inferencepools/models")).Do(context.Background()).Raw()
		if !strings.Contains(string(kept), "sweet") {
			return fmt.Errorf("kept is %s, %v", kept, err)
		}
		return nil
	})
	r.wantDefinitions("edited", []model.Definition{{Name: poolDefinition, Origin: model.ThirdPartyOrigin, Reads: "v1",
		Serves: "v1", Lacks: "spec.appProtocol"}})
	for i, after := range rereadDelays {
		ahead.Store(int64(after))
		eventually(t, func() error {
			if n := lists() - before; n != float64(i+1) {
				return fmt.Errorf("%v after the edit the pools were listed %v times", after, n)
			}
			return nil
		})
	}
	await(r, r.sources.InferencePools, p.ref(model.KindInferencePool, "models"),
		func(o input.Object[inferencev1.InferencePoolSpec]) bool {
			return slices.Equal(o.Meta.Unknown, []string{"flavour"})
		})
}

// definePools installs the definition of InferencePools with a change.
func (p *place) definePools(change func(spec map[string]any)) {
	p.t.Helper()
	text, err := os.ReadFile("../../../api/inference/v1/inference.networking.k8s.io_inferencepools.yaml")
	if err != nil {
		p.t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal(text, &object); err != nil {
		p.t.Fatal(err)
	}
	change(object["spec"].(map[string]any))
	if text, err = yaml.Marshal(object); err != nil {
		p.t.Fatal(err)
	}
	p.apply(string(text))
}

// poolFields are the fields of a pool's spec, as its definition has them.
func poolFields(definition map[string]any) map[string]any {
	version := definition["versions"].([]any)[0].(map[string]any)
	spec := version["schema"].(map[string]any)["openAPIV3Schema"].(map[string]any)["properties"].(map[string]any)["spec"]
	return spec.(map[string]any)["properties"].(map[string]any)
}

// wantDefinitions waits until the state tells of these definitions and no others.
func (r *reading) wantDefinitions(what string, want []model.Definition) {
	r.t.Helper()
	eventually(r.t, func() error {
		if got := r.edge.State().DifferingDefinitions(); !slices.Equal(got, want) {
			return fmt.Errorf("%s: %+v, want %+v", what, got, want)
		}
		return nil
	})
}

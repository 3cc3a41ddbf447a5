package kube

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/model"
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

// definePools installs the definition of InferencePools with a change.
func (p *place) definePools(change func(spec map[string]any)) {
	p.t.Helper()
	text, err := os.ReadFile("../../api/inference/v1/inference.networking.k8s.io_inferencepools.yaml")
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
		if got := r.edge.State().Definitions(); !slices.Equal(got, want) {
			return fmt.Errorf("%s: %+v, want %+v", what, got, want)
		}
		return nil
	})
}

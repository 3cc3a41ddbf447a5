package main

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// policy is an object of one of Cardea's kinds of policies.
type policy struct {
	kind, name           string
	targetKind, targeted string
	features             string // YAML: fields of the spec, two spaces deep, each after a line break
}

func (p policy) spec() string {
	return fmt.Sprintf("\n  targetRefs: [{group: gateway.networking.k8s.io, kind: %s, name: %s}]%s\n",
		p.targetKind, p.targeted, p.features)
}

// text is the policy in a file.
func (p policy) text() string {
	return fmt.Sprintf("---\napiVersion: cardea.dev/v1alpha1\nkind: %s\nmetadata: {name: %s, namespace: bench}\nspec:%s",
		p.kind, p.name, p.spec())
}

func texts(list []policy) string {
	var text strings.Builder
	for _, p := range list {
		text.WriteString(p.text())
	}
	return text.String()
}

// object is the policy as a source has it. It panics if the spec can't be read: it is in this program.
func (p policy) object(generation int) (model.ObjectRef, input.Object[input.PolicySpec]) {
	spec := new(input.PolicySpec)
	if err := yaml.Unmarshal([]byte(p.spec()), spec); err != nil {
		panic(err)
	}
	return model.Ref(model.KindOf("cardea.dev", p.kind), scene.Namespace, p.name), input.Object[input.PolicySpec]{
		Meta: model.Meta{Generation: int64(generation)}, Spec: spec,
	}
}

// set sets it in a scene.
func (p policy) set(s *scene.Scene, b *flow.Batch, generation int) {
	ref, object := p.object(generation)
	input.SourceOf[input.PolicySpec](s.Sources.Sources, ref.Kind()).Set(b, ref, object)
}

// keysText is the issuer's key set in a file.
func keysText(keys string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\n"+
		"metadata: {name: corp, namespace: bench}\ndata: {jwks: '%s'}\n", keys)
}

// setKeys sets it in a scene.
func setKeys(s *scene.Scene, b *flow.Batch, keys string) {
	s.Sources.ConfigMaps.Set(b, model.Ref(model.KindConfigMap, scene.Namespace, "corp"), input.Object[input.ConfigMapSpec]{
		Spec: &input.ConfigMapSpec{Data: map[string]string{"jwks": keys}},
	})
}

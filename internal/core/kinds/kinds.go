package kinds

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

//go:generate go run ./generate

//go:embed crds.json
var crdsJSON []byte

//go:embed descriptions.json
var descriptionsJSON []byte

// All lists the kinds, those that users ask for most first.
func All() []*kind.Kind {
	return []*kind.Kind{
		gatewayClass(), gateway(), httpRoute(), grpcRoute(), referenceGrant(), xBackend(), mcpBackend(), backendTLSPolicy(),
		inferencePool(), inferenceObjective(), modelRewrite(), dataPlane(),
		service(), endpointSlice(), secret(), configMap(), namespace(), clusterTrustBundle(),
	}
}

// Catalog makes a catalog of All and more.
func Catalog(more ...*kind.Kind) *kind.Catalog {
	c := kind.NewCatalog(append(All(), more...)...)
	for _, name := range []string{"TLSRoute", "TCPRoute", "UDPRoute", "ListenerSet"} {
		c.NotYet = append(c.NotYet, model.KindOf(model.KindGateway.Group(), name))
	}
	return c
}

// definitions are the CustomResourceDefinitions of crds.json.
var definitions = func() map[model.Kind]*kind.Definition {
	var list []*kind.Definition
	if err := json.Unmarshal(crdsJSON, &list); err != nil {
		panic(fmt.Sprintf("kinds: crds.json: %v", err))
	}
	all := map[model.Kind]*kind.Definition{}
	for _, d := range list {
		all[model.KindOf(d.Group, d.Kind)] = d
	}
	return all
}()

// Describe is what the definition of a kind says of its fields; nil for a kind that All does not declare, or that is
// built into Kubernetes.
func Describe(k model.Kind) *kind.Descriptions {
	var list []*kind.Descriptions
	if err := json.Unmarshal(descriptionsJSON, &list); err != nil {
		panic(fmt.Sprintf("kinds: descriptions.json: %v", err))
	}
	for _, d := range list {
		if model.KindOf(d.Group, d.Kind) == k {
			return d
		}
	}
	return nil
}

// custom begins the declaration of a kind that crds.json defines.
func custom(k model.Kind, content kind.Content) kind.Kind {
	declared := definitions[k].Declare()
	declared.Content = content
	return declared
}

package kinds

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

//go:generate go run ./generate

//go:embed crds.json
var crdsJSON []byte

//go:embed descriptions.json
var descriptionsJSON []byte

// All lists the kinds, those that users ask for most first, and more, which may be routes and backends, too. It panics
// if data planes could not tell two kinds apart by their names (Prefix).
func All(more ...*kind.Kind) []*kind.Kind {
	list := listAll(more...)
	checkPrefixes(list)
	return list
}

func listAll(more ...*kind.Kind) []*kind.Kind {
	backends := append(Backends(), slices.DeleteFunc(slices.Clone(more), isNoBackend)...)
	list := append([]*kind.Kind{
		gatewayClass(), gatewayKind(), listenerSet(), httpRoute(), grpcRoute(), tlsRoute(), tcpRoute(), udpRoute(),
		referenceGrant(), xBackend(), mcpBackend(),
		backendTLSPolicy(),
		inferencePool(), inferenceObjective(), modelRewrite(), dataPlane(),
		serviceKind(), endpointSlice(backends), secretKind(), configMap(), namespaceKind(), clusterTrustBundle(),
	}, more...)
	for i, k := range list {
		if k.Route != nil {
			list[i] = completeRoute(k, backends)
		}
	}
	return list
}

func isNoBackend(k *kind.Kind) bool { return k.Backend == nil }

// NewCatalog makes a catalog of All and more.
func NewCatalog(more ...*kind.Kind) *kind.Catalog {
	return kind.NewCatalog(All(more...)...)
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

// FieldDescriptions is what the definition of a kind says of its fields; nil for a kind that All does not declare, or
// that is built into Kubernetes.
func FieldDescriptions(k model.Kind) *kind.Descriptions {
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

// customKind begins the declaration of a kind that crds.json defines.
func customKind(k model.Kind, content kind.Content) kind.Kind {
	declared := definitions[k].NewKind()
	declared.Content = content
	return declared
}

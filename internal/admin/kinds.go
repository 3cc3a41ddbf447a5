package admin

import (
	"strings"

	"cardea.dev/cardea/internal/model"
)

// KindNames are the words for a kind, as kubectl has them.
type KindNames struct {
	Kind       model.Kind
	APIVersion string // as Cardea shows objects
	Plural     string // lower-case
	Short      []string
	Namespaced bool
}

var kindNames = []KindNames{
	{model.KindGatewayClass, "gateway.networking.k8s.io/v1", "gatewayclasses", []string{"gc"}, false},
	{model.KindGateway, "gateway.networking.k8s.io/v1", "gateways", []string{"gtw"}, true},
	{model.KindHTTPRoute, "gateway.networking.k8s.io/v1", "httproutes", nil, true},
	{model.KindGRPCRoute, "gateway.networking.k8s.io/v1", "grpcroutes", nil, true},
	{model.KindReferenceGrant, "gateway.networking.k8s.io/v1", "referencegrants", []string{"refgrant"}, true},
	{model.KindXBackend, "gateway.networking.x-k8s.io/v1alpha1", "xbackends", nil, true},
	{model.KindDataPlane, "cardea.dev/v1alpha1", "dataplanes", []string{"dp"}, true},
	{model.KindService, "v1", "services", []string{"svc"}, true},
	{model.KindEndpointSlice, "discovery.k8s.io/v1", "endpointslices", []string{"eps"}, true},
	{model.KindSecret, "v1", "secrets", nil, true},
	{model.KindConfigMap, "v1", "configmaps", []string{"cm"}, true},
	{model.KindNamespace, "v1", "namespaces", []string{"ns"}, false},
}

// Kinds lists the names of all kinds, the ones that users ask for most first.
func Kinds() []KindNames { return kindNames }

// NamesOf returns the names of a kind.
func NamesOf(kind model.Kind) KindNames {
	for _, n := range kindNames {
		if n.Kind == kind {
			return n
		}
	}
	return KindNames{}
}

// KindNamed finds the kind that a user means: by its plural, its singular or a short name, in any case, and with or
// without its group ("gateways.gateway.networking.k8s.io").
func KindNamed(word string) (KindNames, bool) {
	word, group, grouped := strings.Cut(strings.ToLower(word), ".")
	for _, n := range kindNames {
		if grouped && group != n.Kind.Group() {
			continue
		}
		if word == n.Plural || word == strings.ToLower(n.Kind.String()) {
			return n, true
		}
		for _, short := range n.Short {
			if word == short {
				return n, true
			}
		}
	}
	return KindNames{}, false
}

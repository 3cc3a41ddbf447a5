package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func referenceGrant() *kind.Kind {
	k := custom(model.KindReferenceGrant, kind.Custom[gatewayv1.ReferenceGrantSpec]())
	k.Many = true
	k.Columns = []kind.Column{
		wide("FROM", func(o kind.Shown) string { return eachOf(o.List("spec", "from"), "kind", "namespace") }),
		wide("TO", func(o kind.Shown) string { return eachOf(o.List("spec", "to"), "kind", "name") }),
	}
	return &k
}

package kinds

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func referenceGrant() *kind.Kind {
	k := customKind(model.KindReferenceGrant, kind.CustomContent[gatewayv1.ReferenceGrantSpec]())
	k.Cacheable = true
	k.Columns = []kind.Column{
		wideColumn("FROM", func(o kind.JSONObject) string {
			return eachOf(o.ObjectsAt("spec", "from"), "kind",
				"namespace")
		}),
		wideColumn("TO", func(o kind.JSONObject) string { return eachOf(o.ObjectsAt("spec", "to"), "kind", "name") }),
	}
	return &k
}

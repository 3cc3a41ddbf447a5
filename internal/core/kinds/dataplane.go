package kinds

import (
	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func dataPlane() *kind.Kind {
	k := custom(model.KindDataPlane, kind.Custom[v1alpha1.DataPlaneSpec]())
	k.Optional = true
	k.Columns = []kind.Column{
		columnOr("PROXY", "Envoy", "spec", "proxy"),
		columnOr("REPLICAS", "<unset>", "spec", "replicas"),
	}
	return &k
}

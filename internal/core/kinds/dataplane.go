package kinds

import (
	"cardea.dev/cardea/api/v1alpha1"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func dataPlane() *kind.Kind {
	k := customKind(model.KindDataPlane, kind.CustomContent[v1alpha1.DataPlaneSpec]())
	k.Optional = true
	k.Columns = []kind.Column{
		columnOr("PROXY", string(v1alpha1.DefaultProxy), "spec", "proxy"),
		columnOr("REPLICAS", "<unset>", "spec", "replicas"),
	}
	return &k
}

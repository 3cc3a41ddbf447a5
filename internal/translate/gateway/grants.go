package gateway

import (
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// grants are ReferenceGrants, and those that were there until lately, by the namespace that they open.
type grants struct {
	valid     *flow.Collection[string, flow.Members[model.ObjectRef, input.Object[gatewayv1.ReferenceGrantSpec]]]
	withdrawn *flow.Collection[string, flow.Members[model.ObjectRef, input.Withdrawn]]
}

func newGrants(in *kinds.Sources) *grants {
	return &grants{
		valid: flow.Group(in.ReferenceGrants.Collection(), "grants",
			func(ref model.ObjectRef, _ input.Object[gatewayv1.ReferenceGrantSpec]) []string {
				return []string{ref.Namespace()}
			}, flow.ByKey),
		withdrawn: flow.Group(in.Withdrawn.Collection(), "grants withdrawn",
			func(ref model.ObjectRef, _ input.Withdrawn) []string { return []string{ref.Namespace()} }, flow.ByKey),
	}
}

// permit tells whether from may refer to to: in its own namespace always, elsewhere by a ReferenceGrant there.
func (g *grants) permit(c *flow.Ctx, from, to model.ObjectRef) bool {
	if from.Namespace() == to.Namespace() {
		return true
	}
	there, _ := flow.Fetch(c, g.valid, to.Namespace())
	for _, grant := range there.All() {
		if input.Permits(grant.Spec, from, to) {
			return true
		}
	}
	return false
}

// refusal says that from may not refer to to, and which ReferenceGrant let it until lately.
func (g *grants) refusal(c *flow.Ctx, from, to model.ObjectRef) string {
	says := fmt.Sprintf("no ReferenceGrant in namespace %s lets %s of namespace %s refer to %s", to.Namespace(),
		strings.Replace(from.Kind().String()+"s", "Policys", "Policies", 1), from.Namespace(), to)
	there, _ := flow.Fetch(c, g.withdrawn, to.Namespace())
	for ref, grant := range there.All() {
		if input.Permits(grant.Spec, from, to) {
			return fmt.Sprintf("%s; %s, which did, is not in %s any more", says, ref, grant.Where)
		}
	}
	return says
}

package reference

import (
	"fmt"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// Grants are ReferenceGrants, and those that were there until lately, by the namespace that they open.
type Grants struct {
	valid     *flow.Collection[string, flow.Members[model.ObjectRef, input.Object[gatewayv1.ReferenceGrantSpec]]]
	withdrawn *flow.Collection[string, flow.Members[model.ObjectRef, input.WithdrawnGrant]]
}

func newReferenceGrants(in *kinds.Sources) *Grants {
	return &Grants{
		valid: flow.Group(in.ReferenceGrants.Collection(), "grants",
			func(ref model.ObjectRef, _ input.Object[gatewayv1.ReferenceGrantSpec]) []string {
				return []string{ref.Namespace()}
			}, flow.ByKey),
		withdrawn: flow.Group(in.Withdrawn.Collection(), "grants withdrawn",
			func(ref model.ObjectRef, _ input.WithdrawnGrant) []string { return []string{ref.Namespace()} }, flow.ByKey),
	}
}

// IsPermitted tells whether from may refer to to: in its own namespace always, elsewhere by a ReferenceGrant there.
func (g *Grants) IsPermitted(c *flow.Ctx, from, to model.ObjectRef) bool {
	if from.Namespace() == to.Namespace() {
		return true
	}
	there, _ := flow.Fetch(c, g.valid, to.Namespace())
	for _, grant := range there.All() {
		if input.GrantPermits(grant.Spec, from, to) {
			return true
		}
	}
	return false
}

// DescribeRefusal says that from may not refer to to, and which ReferenceGrant let it until lately.
func (g *Grants) DescribeRefusal(c *flow.Ctx, from, to model.ObjectRef) string {
	says := fmt.Sprintf("no ReferenceGrant in namespace %s lets %s of namespace %s refer to %s", to.Namespace(),
		strings.Replace(from.Kind().String()+"s", "Policys", "Policies", 1), from.Namespace(), to)
	there, _ := flow.Fetch(c, g.withdrawn, to.Namespace())
	for ref, grant := range there.All() {
		if input.GrantPermits(grant.Spec, from, to) {
			return fmt.Sprintf("%s; %s, which permitted it, is no longer in %s", says, ref, grant.Where)
		}
	}
	return says
}

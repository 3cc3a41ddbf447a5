package policy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// portSettings adds what is rendered for ports and their listeners to the settings.
func (m *Meaning) portSettings(to *plan.Settings) {
	to.Ports = flow.Map(m.Ports, "plan/port-settings",
		func(_ *flow.Ctx, _ model.PortKey, p Port) (s plan.ListenerSettings, some bool) {
			for _, piece := range p.Shared {
				fields := piece.Rendered.OfListener()
				if p.Protocol != model.HTTP {
					fields = fields.PortOnly()
				}
				s = with(s, piece, fields)
			}
			if p.Protocol == model.HTTP {
				for _, piece := range p.Chains[0].Pieces {
					s = with(s, piece, piece.Rendered.OfListener())
				}
			}
			return s, len(s.From) > 0
		})
	to.Chains = flow.Map(m.in.Plan.Listeners, "plan/chain-settings",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) (s plan.ListenerSettings, some bool) {
			if l.Protocol == model.HTTP {
				return s, false
			}
			p, _ := flow.Fetch(c, m.Ports, l.Port)
			for _, piece := range p.ofListener(k) {
				s = with(s, piece, piece.Rendered.OfListener().ChainOnly())
			}
			return s, len(s.From) > 0
		})
}

// with adds what a piece is rendered to, on behalf of the policies that state it.
func with(s plan.ListenerSettings, piece RulePiece, fields plan.ListenerFields) plan.ListenerSettings {
	if !fields.OfPort() && !fields.OfChain() {
		return s
	}
	s.ListenerFields = s.And(fields)
	by := []model.ObjectRef{piece.Disabled.Policy}
	for _, f := range piece.Fields {
		by = append(by, f.From.Policy)
	}
	for _, policy := range by {
		if policy != (model.ObjectRef{}) && !slices.Contains(s.From, policy) {
			s.From = append(s.From, policy)
		}
	}
	slices.SortFunc(s.From, model.ObjectRef.Compare)
	return s
}

package policy

import (
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// portSettings adds what is rendered for ports and their listeners to the settings.
func (m *Translator) portSettings(to *plan.Settings) {
	to.Ports = flow.Map(m.Ports, "plan/port-settings",
		func(_ *flow.Ctx, _ model.PortKey, p PortPieces) (s plan.ListenerSettings, some bool) {
			for _, piece := range p.Shared {
				fields := piece.Rendered.OfListener()
				if !p.Protocol.Plaintext() {
					fields = fields.PortOnly()
				}
				s = addListenerFields(s, piece, fields)
			}
			if p.Protocol.Plaintext() {
				for _, piece := range p.Chains[0].Pieces {
					s = addListenerFields(s, piece, piece.Rendered.OfListener())
				}
			}
			return s, len(s.From) > 0
		})
	to.FilterChains = flow.Map(m.inputs.Plan.Listeners, "plan/chain-settings",
		func(c *flow.Ctx, k model.ListenerKey, l model.Listener) (s plan.ListenerSettings, some bool) {
			if l.Protocol.Plaintext() {
				return s, false
			}
			p, _ := flow.Fetch(c, m.Ports, l.Port)
			for _, piece := range p.ofListener(k) {
				s = addListenerFields(s, piece, piece.Rendered.OfListener().ChainOnly())
			}
			return s, len(s.From) > 0
		})
}

// addListenerFields adds what a piece is rendered to, on behalf of the policies that state it.
func addListenerFields(s plan.ListenerSettings, piece RulePiece, fields plan.ListenerFields) plan.ListenerSettings {
	if len(fields.Port) == 0 && !fields.OfChain() {
		return s
	}
	s.ListenerFields = s.MergeWith(fields)
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

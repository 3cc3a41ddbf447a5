package assembly

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/deliver/xds"
)

// olderObjects returns the objects that serve in an older version: a newer one was not taken, or can't be used, or the
// proxies refused it and keep what they accepted before.
func (c Config) olderObjects(proxies *xds.Server) func() map[model.ObjectRef]string {
	return func() map[model.ObjectRef]string {
		older := map[model.ObjectRef]string{}
		if c.Older != nil {
			older = c.Older()
		}
		c.World.Graph.View(func(v flow.View) {
			for key, refusal := range flow.All(v, c.World.Feedback.Refused.Collection()) {
				at := resource.Key{Gateway: key.Gateway, Type: refusal.Type, Name: refusal.Name}
				instead, _ := proxies.FindOffer(at)
				if refusal.Kind == resource.ContentRefused && instead != nil && instead.HoldsOther(key) {
					older[key.Origin.Object] = "the proxy refused the newest version: " + refusal.Message
				}
			}
			for key, own := range flow.All(v, c.World.Plan.Materials) {
				if own.Problem == "" {
					continue
				}
				for _, ref := range append([]model.ObjectRef{key.Object}, own.Users...) {
					older[ref] = own.Problem
				}
			}
			for gateway, w := range flow.All(v, c.World.Feedback.Written.Collection()) {
				if w.TooLarge != "" && !w.At.IsZero() {
					older[gateway] = "its proxies keep the configuration that was written before: " + w.TooLarge
				}
			}
		})
		return older
	}
}

package standalone

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/world"
)

// retryPorts is how often a port that was taken is looked at again.
const retryPorts = 2 * time.Second

// ports watches for ports that a proxy could not bind to become free. A taken port is a fault of the world: nothing in the
// folder changes when it ends, so somebody has to look.
type ports struct {
	world *world.World
	retry func(gateway model.ObjectRef, t resource.Type, name string)
}

// taken is a listener that could not be bound.
type taken struct {
	gateway model.ObjectRef
	name    string
	binds   []string // that are taken
}

func (p *ports) run(ctx context.Context) error {
	tick := time.NewTicker(retryPorts)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for _, t := range p.taken() {
			if allFree(ctx, t.binds) {
				p.retry(t.gateway, resource.Listener, t.name)
			}
		}
	}
}

func (p *ports) taken() []taken {
	var list []taken
	seen := map[resource.Key]bool{}
	p.world.Graph.View(func(v flow.View) {
		for key, refusal := range flow.All(v, p.world.Feedback.Refused.Collection()) {
			resourceKey := resource.Key{Gateway: key.Gateway, Type: refusal.Type, Name: refusal.Name}
			if refusal.Type != resource.Listener || seen[resourceKey] {
				continue
			}
			for _, c := range p.world.Outputs.Resources {
				r, _ := flow.Get(v, c, resourceKey)
				if binds := unbound(refusal.Message, r.Binds); len(binds) > 0 {
					seen[resourceKey] = true
					list = append(list, taken{gateway: key.Gateway, name: refusal.Name, binds: binds})
				}
			}
		}
	})
	return list
}

// unbound are a listener's addresses that its proxy says it can't bind. The others may be held by the proxy itself, for the
// listener's former version.
func unbound(message string, binds []string) []string {
	return slices.DeleteFunc(slices.Clone(binds), func(address string) bool {
		return !strings.Contains(message, "cannot bind '"+address+"'")
	})
}

// allFree tells whether every address can be bound now.
func allFree(ctx context.Context, addresses []string) bool {
	for _, address := range addresses {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

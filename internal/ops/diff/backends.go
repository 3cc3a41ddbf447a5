package diff

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
)

// backendMove is a backend at a Gateway that is somewhere else or is spoken to in another way, whatever becomes of the
// routes that lead there.
type backendMove struct {
	key           plan.BackendKey
	before, after string // where it is, and how it is spoken to
	uses          []backendUse
}

// backendUse is where a rule leads to a backend that moves.
type backendUse struct {
	table  resource.Name
	domain string
	rule   model.RuleKey
}

func (l backendUse) compare(o backendUse) int {
	return cmp.Or(strings.Compare(l.table.Name, o.table.Name), strings.Compare(l.domain, o.domain),
		l.rule.Route.Compare(o.rule.Route),
		strings.Compare(l.rule.Name, o.rule.Name))
}

// findMoves are the backends that an edit moves, in order. One that comes or goes does not move: with it, what routes
// say differs.
func (d *Differ) findMoves(v flow.View) (list []backendMove) {
	for change := range flow.StagedChanges(v, d.world.Plan.Backends) {
		was, existed := flow.ValueBefore(v, d.world.Plan.Backends, change.Key)
		m := backendMove{key: change.Key, before: describeBackend(was), after: describeBackend(change.Value)}
		at := d.world.Dialect(change.Value.DataPlane).BackendResource(change.Key)
		if instead, apart := d.offeredInstead(at); apart {
			m.before = "as it was accepted last"
			if is, _ := d.offeredAfter(v, at); instead != nil && instead.Version == is.Version {
				m.before = m.after
			}
		}
		if existed && !change.Deleted && m.before != m.after {
			m.uses = d.findUses(v, change.Key)
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b backendMove) int {
		return cmp.Or(a.key.Gateway.Compare(b.key.Gateway), strings.Compare(a.key.Backend.Describe(),
			b.key.Backend.Describe()))
	})
	return list
}

// findUses are the ways to a backend, by the routes that use it, each once.
func (d *Differ) findUses(v flow.View, to plan.BackendKey) (list []backendUse) {
	routes, _ := flow.Get(v, d.world.Plan.RoutesByBackend, to)
	for _, route := range routes.All() {
		for _, rule := range route.Rules {
			if !slices.Contains(rule.ListBackends(), to.Backend) {
				continue
			}
			for _, place := range route.Listeners {
				l, found := flow.Get(v, d.world.Plan.Listeners, place.Listener)
				if place.Gateway != to.Gateway || !found {
					continue
				}
				table := nameOf(d.world.Dialect(l.DataPlane).RouteTable(l))
				for _, domain := range place.Domains {
					list = append(list, backendUse{table, domain.Name, rule.Key})
				}
			}
		}
	}
	slices.SortFunc(list, backendUse.compare)
	return slices.Compact(list)
}

// describeBackend tells where a backend is, and how it is spoken to. Which endpoints it has is not part of it, as they
// come and go; that it has none is.
func describeBackend(b model.Backend) string {
	var text string
	switch {
	case b.Hostname != "":
		text = "at " + net.JoinHostPort(b.Hostname, strconv.Itoa(int(b.HostPort)))
	case len(b.Endpoints) == 0:
		text = "without endpoints"
	default:
		text = "at its endpoints"
	}
	switch b.Protocol {
	case model.HTTP1:
	case model.HTTP2:
		text += " over HTTP/2"
	default:
		text += " over HTTP/1.1 or HTTP/2"
	}
	if b.Pool != nil {
		text += ", " + b.Pool.Describe()
	}
	switch {
	case b.TLS == nil:
		return text
	case b.TLS.Unverified:
		return text + " over TLS to whoever answers"
	case b.TLS.Closed != "":
		return "nowhere: " + b.TLS.Closed
	}
	text += " over TLS to " + b.TLS.Hostname
	for _, name := range b.TLS.Names {
		kind := "DNS"
		if name.URI {
			kind = "URI"
		}
		text += fmt.Sprintf(" or %s %s", kind, name.Value)
	}
	if b.TLS.CA != "" {
		text += fmt.Sprintf(" by CA certificates %08x", uint32(xxhash.Sum64String(b.TLS.CA)))
	}
	if b.TLS.Certificate != (model.ObjectRef{}) {
		text += " showing " + b.TLS.Certificate.String()
	}
	return text
}

// Package live tells a ledger what became of its changes in the proxies of this Cardea: which generation of an object
// they acknowledged, or refused, and in which words.
//
//	feed --Fed--> pending --(each turn of the graph)--> acknowledged or refused --Report--> ledger
//
// A route is live at a Gateway when its proxies acknowledged all of its rules as they are now. Any other object is live
// when each proxy has acknowledged everything that followed from it: whatever else came before is then live, too. An
// object that Cardea itself does not accept is refused in Cardea's words; so is one of which a proxy refused a part. A
// proxy that refused something of another object is not waited for.
//
// It owns which generations are pending. It must never know databases or HTTP. Work is done per pending object and
// turn, and none while nothing is pending. Fed may be called from any goroutine; Run is the one that looks. Start
// reading at Tracker.look.
package live

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/world"
)

// Proxies is what knows how far proxies are: xds.Server.
type Proxies interface {
	Seen() flow.Rev
	Behind() map[model.ObjectRef]map[resource.Proxy]int
}

// Config of a Tracker.
type Config struct {
	World   *world.World
	Ledger  ledger.Work
	Cluster string // the name by which this Cardea reports
	Proxies Proxies
	// Untaken says why an object's newest version did not go into the graph; "" if it did, or is about to.
	Untaken func(model.ObjectRef) string
	Log     *slog.Logger
}

// Tracker follows what is pending.
type Tracker struct {
	Config

	mu      sync.Mutex
	pending map[model.ObjectRef]ledger.Object
	fresh   chan struct{} // capacity 1: something is pending that was not
}

// New makes a Tracker.
func New(c Config) *Tracker {
	return &Tracker{Config: c, pending: map[model.ObjectRef]ledger.Object{}, fresh: make(chan struct{}, 1)}
}

// Fed takes that objects went into the graph.
func (t *Tracker) Fed(list []ledger.Object) {
	t.mu.Lock()
	for _, o := range list {
		t.pending[model.Ref(model.KindOf(o.Group, o.Kind), o.Namespace, o.Name)] = o
	}
	t.mu.Unlock()
	select {
	case t.fresh <- struct{}{}:
	default:
	}
}

const (
	// settling is how soon a look is repeated while something is pending and the graph has no turn: proxies that
	// acknowledge what changes nothing in the graph make none.
	settling = 20 * time.Millisecond
	// many are pending after a start. Then looks have a pause between them, however many turns the graph has.
	many = 100
	// reported is how many rows are reported at once: others write, too.
	reported = 1000
)

// Run looks after each turn until ctx is done.
func (t *Tracker) Run(ctx context.Context) error {
	turns := make(chan struct{}, 1)
	go func() {
		for range t.World.Graph.Watch(ctx) {
			select {
			case turns <- struct{}{}:
			default:
			}
		}
	}()
	var again <-chan time.Time
	var next time.Time // no look before that
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-turns:
		case <-t.fresh:
		case <-again:
		}
		if wait := time.Until(next); wait > 0 {
			again = time.After(wait)
			continue
		}
		again = nil
		if left := t.round(ctx); left > 0 {
			pause := min(settling*time.Duration(left/many), time.Second)
			again, next = time.After(max(pause, settling)), time.Now().Add(pause)
		}
	}
}

// round looks at what is pending, and reports what is not any more. It returns how many objects are left.
func (t *Tracker) round(ctx context.Context) (left int) {
	t.mu.Lock()
	pending := maps.Clone(t.pending)
	t.mu.Unlock()
	if len(pending) == 0 {
		return 0
	}
	decided, list := t.look(pending)
	for rows := range slices.Chunk(list, reported) {
		if err := t.Ledger.Report(ctx, rows); err != nil {
			if ctx.Err() == nil {
				t.Log.Warn("what is live can't be told the ledger; it is tried again", "error", err)
			}
			return len(pending)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for ref, o := range decided {
		if t.pending[ref].Generation == o.Generation {
			delete(t.pending, ref)
		}
	}
	if len(decided) > many {
		t.pending = maps.Collect(maps.All(t.pending)) // a map that was large stays so, and each round copies it
	}
	return len(t.pending)
}

// look decides about pending objects in one View.
func (t *Tracker) look(pending map[model.ObjectRef]ledger.Object) (decided map[model.ObjectRef]ledger.Object,
	list []ledger.Live) {
	decided = map[model.ObjectRef]ledger.Object{}
	t.World.Graph.View(func(v flow.View) {
		l := &look{Tracker: t, View: v}
		l.gather()
		for ref, o := range pending {
			rows, done := l.of(ref, o)
			for _, r := range rows {
				r.Key, r.Cluster, r.Generation = o.Key, t.Cluster, o.Generation
				list = append(list, r)
			}
			if done {
				decided[ref] = o
			}
		}
	})
	slices.SortFunc(list, func(a, b ledger.Live) int { return a.Compare(b.Key) })
	return decided, list
}

// look is one View, and what is asked of it once.
type look struct {
	*Tracker
	flow.View
	gateways []model.ObjectRef
	sections map[model.ObjectRef][]model.ListenerKey // of Gateways; nil until somebody asks
	asked    bool                                    // whether settled and proxies are known
	settled  bool                                    // all proxies have acknowledged all there is, or refused it
	proxies  int                                     // of those
}

func (l *look) gather() {
	for gateway := range flow.All(l.View, l.World.Plan.Gateways) {
		l.gateways = append(l.gateways, gateway)
	}
}

// everything asks whether all proxies have acknowledged all there is. It looks at all that they have, so only objects
// that are no routes ask for it, once a look.
func (l *look) everything() bool {
	if l.asked {
		return l.settled
	}
	l.asked = true
	blocked := map[model.ObjectRef]bool{}
	for key := range flow.All(l.View, l.World.Feedback.Refused.Collection()) {
		blocked[key.Gateway] = true
	}
	l.settled = l.Proxies.Seen() >= l.Rev() // else what is behind is of an earlier turn
	behind := l.Proxies.Behind()
	for gateway, g := range flow.All(l.View, l.World.Plan.Gateways) {
		if blocked[gateway] || g.DataPlane.ReadsFiles() {
			continue
		}
		p, _ := flow.Get(l.View, l.World.Feedback.Proxies.Collection(), gateway)
		l.proxies += p.Connected
		if p.Connected == 0 || p.Acknowledged < p.Connected {
			l.settled = false
		}
		for _, n := range behind[gateway] {
			l.settled = l.settled && n == 0
		}
	}
	return l.settled
}

// of tells what became of an object; done is false if that is not known yet.
func (l *look) of(ref model.ObjectRef, o ledger.Object) (rows []ledger.Live, done bool) {
	source := l.World.Sources.Of(ref.Kind())
	if source == nil {
		return []ledger.Live{{Refused: "not taken: its kind is not read"}}, true
	}
	value, there := source.Get(l.View, ref)
	there = there && value.Meta.UID == o.ID // else it is there by itself, as a Namespace with objects is
	if there == o.IsDeleted() || there && value.Meta.Generation < o.Generation {
		if why := l.Untaken(ref); why != "" {
			return []ledger.Live{{Refused: "not taken: " + why}}, true
		}
		return nil, false // the graph is about to have it
	}
	if why := l.unaccepted(ref); why != "" {
		return []ledger.Live{{Refused: why}}, true
	}
	if route, is := flow.Get(l.View, l.World.Plan.Routes, ref); is && len(route.Places) > 0 {
		return l.route(ref, route)
	}
	if rows := l.refused(ref); len(rows) > 0 {
		return rows, true
	}
	if !l.everything() {
		return nil, false
	}
	return []ledger.Live{{Proxies: l.proxies}}, true
}

// refused are the Gateways whose proxies refused an object that is no route, as it is now, in their words.
func (l *look) refused(ref model.ObjectRef) (rows []ledger.Live) {
	out := l.World.Outputs
	for _, gateway := range l.gateways {
		key := resource.StandingKey{Gateway: gateway, Origin: resource.Origin{Object: ref}}
		settings, _ := flow.Get(l.View, out.Settings, key)
		policies, _ := flow.Get(l.View, out.Policies, key)
		backends, _ := flow.Get(l.View, out.RefusedBackends, key)
		words := cmp.Or(settings.Refused, policies.Refused, backends.Message)
		if ref == gateway {
			words = cmp.Or(words, l.listeners(gateway, ref))
		}
		if words != "" {
			rows = append(rows, ledger.Live{Gateway: gateway.NamespacedName(), Refused: words})
		}
	}
	return rows
}

// listeners is what the proxies of a Gateway said of listeners that they refused.
func (l *look) listeners(gateway, parent model.ObjectRef) (words string) {
	if l.sections == nil {
		l.sections = map[model.ObjectRef][]model.ListenerKey{}
		for key := range flow.All(l.View, l.World.Plan.Listeners) {
			l.sections[key.Parent] = append(l.sections[key.Parent], key)
		}
	}
	for _, key := range l.sections[parent] {
		standing, _ := flow.Get(l.View, l.World.Outputs.Listeners, resource.StandingKey{
			Gateway: gateway, Origin: resource.Origin{Object: parent, Section: key.Section},
		})
		words = cmp.Or(words, standing.Refused)
	}
	return words
}

// unaccepted says why Cardea does not accept an object; "" if it does.
func (l *look) unaccepted(ref model.ObjectRef) string {
	var why []string
	for _, f := range l.World.Reported(l.View, ref) {
		if f.Object == ref && f.Severity == model.Error && f.Condition == "Accepted" {
			why = append(why, strings.TrimPrefix(f.Field+": "+f.Message, ": "))
		}
	}
	if len(why) == 0 {
		return ""
	}
	return "not accepted: " + strings.Join(why, "; ")
}

// route tells of a route, by Gateways.
func (l *look) route(ref model.ObjectRef, route model.Route) (rows []ledger.Live, done bool) {
	gateways := map[model.ObjectRef]bool{}
	for _, place := range route.Places {
		if listener, found := flow.Get(l.View, l.World.Plan.Listeners, place.Listener); found {
			gateways[listener.Gateway] = true
		}
	}
	for gateway := range gateways {
		standing, found := flow.Get(l.View, l.World.Outputs.Routes, resource.RouteKey{Gateway: gateway, Route: ref})
		p, _ := flow.Get(l.View, l.World.Feedback.Proxies.Collection(), gateway)
		row := ledger.Live{Gateway: gateway.NamespacedName(), Proxies: p.Connected}
		for _, place := range standing.Places {
			for _, rule := range place.Rules {
				if rule.Refused != "" {
					row.Refused = rule.Refused
				} else if !rule.Acknowledged {
					return nil, false
				}
			}
		}
		if !found || p.Connected == 0 && !l.readsFiles(gateway) {
			return nil, false
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b ledger.Live) int { return strings.Compare(a.Gateway, b.Gateway) })
	return rows, true
}

func (l *look) readsFiles(gateway model.ObjectRef) bool {
	g, _ := flow.Get(l.View, l.World.Plan.Gateways, gateway)
	return g.DataPlane.ReadsFiles()
}

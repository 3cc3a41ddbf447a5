// Package world joins the pure part of the program: objects in, configuration and status out.
//
// It owns the order in which the towers are joined (inputs, meaning, dialects, reports), which is also the order in
// which changes run through them. It must never know where objects come from, where configuration goes, or a clock (who
// asks for what depends on the time says it). Its methods may be called from any goroutine. Start reading at New.
package world

import (
	"cmp"
	"log/slog"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/translate/gateway"
	"cardea.dev/cardea/internal/translate/policy"
)

// Config is what a World depends on besides objects.
type Config struct {
	Extensions  []Extension         // kinds that are read besides those of package kinds
	Dialects    []dataplane.Dialect // the data planes, at least one
	Log         *slog.Logger
	Check       bool                         // flow's check mode, for tests
	Environment model.Environment            // of all proxies
	Unchecked   bool                         // see gateway.Options
	Budgets     model.Budgets                // see gateway.Options
	Fault       func(collection, key string) // flow.Config.Fault, for tests
	// NoPods: no cluster runs pods and makes EndpointSlices of them, so a backend with a selector and no slice stays so.
	NoPods bool
}

// World is one graph from objects to configuration and status.
type World struct {
	Dialects []dataplane.Dialect // see Dialect
	Graph    *flow.Graph
	Sources  *kinds.Sources
	Feedback *resource.Feedback
	Plan     plan.Plan
	Policies *policy.Translator // what policies come to
	Outputs  resource.Outputs
	// Served are the resources of the first data plane, and of those that it renders for.
	Served  []*flow.Collection[resource.Key, resource.Resource]
	Reports plan.Reports

	translator *gateway.Translator
	noPods     bool
}

// New joins the parts. Sources of objects are synced by the code that fills them; everything else is there at once.
func New(c Config) *World {
	if len(c.Dialects) == 0 {
		panic("world: a dialect is needed")
	}
	graph := flow.New(flow.Config{Name: "cardea", Check: c.Check, Log: c.Log, Fault: c.Fault})
	w := &World{Dialects: c.Dialects, Graph: graph, noPods: c.NoPods}
	w.Sources = kinds.SourcesOf(input.New(w.Graph, NewCatalog(c.Extensions...)))
	w.Feedback = resource.NewFeedback(w.Graph)
	w.translator = gateway.New(w.Graph, w.Sources, gateway.Options{
		DataPlanes: dataPlaneNames(c.Dialects), Protocols: protocols(c.Dialects), Unchecked: c.Unchecked, Budgets: c.Budgets,
		Backends: backends(c.Extensions), Features: listFeatures(c.Extensions), Renderers: featureRenderers(c.Dialects),
	})
	w.Plan, w.Policies = w.translator.Plan, w.translator.Policies
	rendered := renderPlan(w.Graph, w.Plan, w.Feedback, w.Dialects)
	w.Served, w.Outputs = rendered[0].Resources, join(rendered)
	w.Reports = w.translator.NewReports(w.Outputs, w.Feedback)
	for _, e := range c.Extensions {
		if e.NewReporter != nil {
			w.Reports.Reporters = append(w.Reports.Reporters, e.NewReporter(w.Sources))
		}
	}
	w.SetEnvironment(c.Environment)
	return w
}

// SetEnvironment changes what all proxies have in common.
func (w *World) SetEnvironment(e model.Environment) {
	e.TrustDomain = cmp.Or(e.TrustDomain, model.DefaultTrustDomain)
	w.Graph.Apply("environment", func(b *flow.Batch) {
		w.Sources.Environment.Set(b, model.ObjectRef{}, e)
		w.Sources.Environment.MarkSynced(b)
	})
}

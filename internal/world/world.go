// Package world joins the pure part of the program: objects in, configuration and status out.
//
// It owns the order in which the towers are joined (inputs, meaning, dialect, reports), which is also the order in which
// changes run through them. It must never know where objects come from, where configuration goes, or a clock. Its methods may be
// called from any goroutine. Start reading at New.
package world

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/gateway"
	"cardea.dev/cardea/internal/input"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/resource"
)

// Config is what a World depends on besides objects.
type Config struct {
	Log         *slog.Logger
	Check       bool              // flow's check mode, for tests
	Environment model.Environment // of all proxies
}

// World is one graph from objects to configuration and status.
type World struct {
	Graph    *flow.Graph
	Sources  *input.Sources
	Feedback *resource.Feedback
	Plan     plan.Plan
	Outputs  resource.Outputs
	Reports  plan.Reports
}

// New joins the parts. Sources of objects are synced by whoever fills them; everything else is there at once.
func New(c Config) *World {
	w := &World{Graph: flow.New(flow.Config{Name: "cardea", Check: c.Check, Log: c.Log})}
	w.Sources = input.New(w.Graph)
	w.Feedback = resource.NewFeedback(w.Graph)
	meaning := gateway.New(w.Graph, w.Sources)
	w.Plan = meaning.Plan
	w.Outputs = envoy.New(w.Graph, w.Plan, w.Feedback)
	w.Reports = meaning.NewReports(w.Outputs, w.Feedback.Proxies.Collection())
	w.SetEnvironment(c.Environment)
	return w
}

// SetEnvironment changes what all proxies have in common.
func (w *World) SetEnvironment(e model.Environment) {
	w.Graph.Apply("environment", func(b *flow.Batch) {
		w.Sources.Environment.Set(b, model.ObjectRef{}, e)
		w.Sources.Environment.Synced(b)
	})
}

// Findings is what the user should be told about objects, sorted by object.
func (w *World) Findings() []model.Finding {
	var list []model.Finding
	w.Graph.View(func(v flow.View) {
		list = append(list, findings(v, w.Reports.GatewayClasses)...)
		list = append(list, findings(v, w.Reports.Gateways)...)
		list = append(list, findings(v, w.Reports.HTTPRoutes)...)
		for _, unclassed := range flow.All(v, w.Reports.Unclassed) {
			list = append(list, unclassed...)
		}
		list = append(list, w.refusals(v)...)
	})
	slices.SortStableFunc(list, func(a, b model.Finding) int {
		return cmp.Or(a.Object.Compare(b.Object), strings.Compare(a.Field, b.Field))
	})
	return list
}

// refusals tells of what a proxy refused and no report does: backends.
func (w *World) refusals(v flow.View) []model.Finding {
	var list []model.Finding
	for key, refusal := range flow.All(v, w.Feedback.Refused.Collection()) {
		if kind := key.Origin.Object.Kind(); kind == model.KindService || kind == model.KindXBackend {
			list = append(list, model.Finding{
				Object: key.Origin.Object, Reason: "RejectedByProxy",
				Message: fmt.Sprintf("the proxy of %s refused it: %s", key.Gateway, refusal.Message),
			})
		}
	}
	return list
}

func findings[S any](v flow.View, reports *flow.Collection[model.ObjectRef, plan.Report[S]]) []model.Finding {
	var list []model.Finding
	for _, r := range flow.All(v, reports) {
		list = append(list, r.Findings...)
	}
	return list
}

package world_test

import (
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// TestFollowFindings: each finding is told once when it comes and once when it goes, whatever says it; one that moves
// to another rule is not told.
func TestFollowFindings(t *testing.T) {
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Check: true, Environment: model.Environment{Addresses: []string{"127.0.0.1"}},
	})
	w.Graph.Apply("start", w.Sources.MarkSynced)
	follower := w.FollowFindings()
	defer follower.Stop()
	const gateway = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: cardea}
spec: {controllerName: cardea.dev/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: default}
spec: {gatewayClassName: CLASS, listeners: [{name: http, port: 80, protocol: HTTP}]}
`
	const route = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r, namespace: default}
spec: {parentRefs: [{name: web}], rules: [RULES]}
`
	const (
		missing  = "{backendRefs: [{name: none, port: 80}]}"
		another  = "{matches: [{method: GET}], backendRefs: [{name: none, port: 80}]}"
		redirect = "{matches: [{path: {type: Exact, value: /r}}], " +
			"filters: [{type: RequestRedirect, requestRedirect: {hostname: c.example}}]}"
	)
	says := func(list []model.Finding) string {
		var all []string
		for _, f := range list {
			all = append(all, f.Object.String()+" "+f.Describe())
		}
		slices.Sort(all)
		return strings.Join(all, "\n")
	}
	for _, c := range []struct{ what, text, come, gone string }{
		{"a class that does not exist", strings.Replace(gateway, "CLASS", "cadrea", 1),
			"Gateway default/web spec.gatewayClassName: GatewayClass cadrea does not exist, so no controller serves this " +
				"Gateway; " +
				"did you mean cardea?", ""},
		{"mended", strings.Replace(gateway, "CLASS", "cardea", 1), "",
			"Gateway default/web spec.gatewayClassName: GatewayClass cadrea does not exist, so no controller serves this " +
				"Gateway; " +
				"did you mean cardea?"},
		{"a backend that does not exist", strings.Replace(route, "RULES", missing, 1),
			"HTTPRoute default/r spec.rules[0].backendRefs[0]: Service default/none does not exist", ""},
		{"in another rule", strings.Replace(route, "RULES", redirect+", "+missing, 1), "", ""},
		{"and in one more", strings.Replace(route, "RULES", missing+", "+redirect+", "+another, 1),
			"HTTPRoute default/r spec.rules[2].backendRefs[0]: Service default/none does not exist", ""},
		{"in none", strings.Replace(route, "RULES", redirect, 1), "",
			"HTTPRoute default/r spec.rules[0].backendRefs[0]: Service default/none does not exist\n" +
				"HTTPRoute default/r spec.rules[2].backendRefs[0]: Service default/none does not exist"},
		{"nothing new", strings.Replace(route, "RULES", redirect, 1), "", ""},
	} {
		apply(t, w, c.text)
		w.Graph.View(func(v flow.View) {
			come, gone := follower.Changes(v)
			if says(come) != c.come || says(gone) != c.gone {
				t.Errorf("%s:\ncame\n%s\nwent\n%s", c.what, says(come), says(gone))
			}
		})
	}
}

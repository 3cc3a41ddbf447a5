package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
)

// TestAnswerHeadersAsEnvoyMakesThem: what edits of an answer's headers come to: Envoy dates every answer, and an answer
// leads to one location.
func TestAnswerHeadersAsEnvoyMakesThem(t *testing.T) {
	t.Parallel()
	s := startRaw(t, strings.NewReplacer("${routes}", answerRules, "${port}",
		fmt.Sprint(Backend(t, "app"))).Replace(webGateway))
	ask := func(path string) (http.Header, simulate.Outcome) {
		r := request.Request{Port: Offset + 80, Method: http.MethodGet, Host: "any", Path: path}
		_, header, _ := s.exchange(t, r)
		result := s.config.SimulateRequest(r)
		if result.Undecided || len(result.NotSimulated) > 0 || len(result.Outcomes) != 1 {
			t.Fatalf("%s: simulated %+v, want one outcome", path, result)
		}
		return header, result.Outcomes[0]
	}
	for _, path := range []string{"/kept", "/removed", "/set", "/added", "/replaced"} {
		got, o := ask(path)
		dated := http.Header{"Date": {request.TimeOfAnswer}} // as the backend's is
		for _, e := range o.Response {
			e.ApplyTo(dated)
		}
		if want := strings.Join(dated["Date"], ","); !holds(strings.Join(got["Date"], ","), want) {
			t.Errorf("%s: Envoy answers with date %q, simulated %q: %v", path, got["Date"], want, o.Response)
		}
	}
	got, o := ask("/location")
	if want := got.Get("Location"); !slices.Equal(got["Location"], o.Header["Location"]) || o.Location != want {
		t.Errorf("Envoy leads to %q, simulated %q and %q", got["Location"], o.Header["Location"], o.Location)
	}
}

const answerRules = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: answers}
spec:
  parentRefs: [{name: web}]
  rules:
  - matches: [{path: {value: /kept}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
  - matches: [{path: {value: /removed}}]
    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {remove: [Date]}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
  - matches: [{path: {value: /set}}]
    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {set: [{name: date, value: a}]}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
  - matches: [{path: {value: /added}}]
    filters: [{type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: date, value: a}]}}]
    backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]
  - matches: [{path: {value: /replaced}}]
    backendRefs:
    - {group: gateway.networking.x-k8s.io, kind: XBackend, name: app, filters: [
        {type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: date, value: a}], remove: [date]}}]}
  - matches: [{path: {value: /location}}]
    filters:
    - {type: RequestRedirect, requestRedirect: {hostname: loc.localhost}}
    - {type: ResponseHeaderModifier, responseHeaderModifier: {add: [{name: location, value: a b}]}}
`

package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// twoRules is a route of a.ex with two rules: one for every path, and "open" for /open.
var twoRules = strings.Replace(route("a", "a.ex", "/"), "  rules:\n", "  rules:\n  - {name: open, matches: [{path: "+
	"{value: /open}}], backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: app}]}\n", 1)

// onGateway and onOpen are policies of the Gateway, and of the rule "open".
func onGateway(kind, spec string) string {
	return targeted(kind, "gw", "kind: Gateway, name: web", spec)
}
func onOpen(kind, spec string) string {
	return targeted(kind, "open", "kind: HTTPRoute, name: a, sectionName: open", spec)
}

func targeted(kind, name, target, spec string) string {
	return fmt.Sprintf("---\n{apiVersion: cardea.dev/v1alpha1, kind: %s, metadata: {name: %s}, spec: {targetRefs: "+
		"[{group: gateway.networking.k8s.io, %s}], %s}}\n", kind, name, target, spec)
}

// TestWhatManyShare: what is stated for many rules is shown by requests of all of them, also where a route among them
// differs itself.
func TestWhatManyShare(t *testing.T) {
	const (
		keys = "---\n{apiVersion: v1, kind: Secret, metadata: {name: keys}, data: {k: YWJj}}\n"
		key  = "apiKey: {keysRefs: [{name: keys}], from: [{header: x-key}]}"
		get  = "GET http://a.ex:80/"
		app  = "XBackend default/app"
	)
	cors := func(origin string) string { return "cors: {allowOrigins: [\"https://" + origin + "\"]}" }
	for name, c := range map[string]struct {
		before, after string
		want          []string
		absent        string
	}{
		"a policy goes that a rule takes back": {
			keys + onGateway("SecurityPolicy", key) + onOpen("SecurityPolicy", "disable: [apiKey]"),
			keys + onOpen("SecurityPolicy", "disable: [apiKey]"), []string{get + ": 401 -> " + app}, "/open:",
		},
		"a policy comes that a rule takes back": {
			keys + onOpen("SecurityPolicy", "disable: [apiKey]"),
			keys + onGateway("SecurityPolicy", key) + onOpen("SecurityPolicy", "disable: [apiKey]"),
			[]string{get + ": " + app + " -> 401"}, "/open:",
		},
		"another origin": {
			onGateway("SecurityPolicy", cors("x.ex")), onGateway("SecurityPolicy", cors("y.ex")), []string{
				get + "open -H origin:https://x.ex: " + app + ", response header vary: Origin (append), response header " +
					"access-control-allow-origin: https://x.ex (set) -> " + app + ", response header vary: Origin (append)",
				"OPTIONS http://a.ex:80/open -H access-control-request-headers:x-witness -H " +
					"access-control-request-method:GET -H origin:https://y.ex: 200, ",
			}, "",
		},
		"another route": {
			onGateway("SecurityPolicy", cors("x.ex")) + onOpen("TrafficPolicy", "timeouts: {request: 5s}"),
			onGateway("SecurityPolicy", cors("x.ex")) + onOpen("TrafficPolicy", "timeouts: {request: 6s}"),
			[]string{get + "open: " + app}, get + ":",
		},
		"a header that all clients must send": {
			onGateway("ClientPolicy", "clientAddress: {header: {name: x-real-ip, rejectWithout: false}}"),
			onGateway("ClientPolicy", "clientAddress: {header: {name: x-real-ip, rejectWithout: true}}"),
			[]string{get + "open: " + app + " -> 403"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, twoRules+c.before)
			var got []string
			for _, q := range r.diff(true, objects+twoRules+c.after).Requests {
				got = append(got, fmt.Sprintf("%s: %s -> %s", q.Request, q.Before, q.After))
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, want) }) {
					t.Errorf("no %q in\n%s", want, strings.Join(got, "\n"))
				}
			}
			if c.absent != "" && strings.Contains(strings.Join(got, "\n"), c.absent) {
				t.Errorf("%q in\n%s", c.absent, strings.Join(got, "\n"))
			}
		})
	}
}

// TestFieldsThatChange: each field of a changed object is told with its values before and after, and none of a Secret.
func TestFieldsThatChange(t *testing.T) {
	const secret = "---\n{apiVersion: v1, kind: Secret, metadata: {name: keys}, data: {k: %s}}\n"
	before := onGateway("ClientPolicy", "timeouts: {request: 5s}") +
		onOpen("TrafficPolicy", "timeouts: {request: 5s}, retry: {attempts: 1}, rateLimits: [{name: a, requests: 5, "+
			"interval: 1m}, {name: b, requests: 1, interval: 1m}]") + fmt.Sprintf(secret, "YWJj")
	after := onGateway("ClientPolicy", "timeouts: {request: 1m30s}") +
		onOpen("TrafficPolicy", "timeouts: {request: 5s, stream: 1m}, rateLimits: [{name: b, requests: 1, interval: "+
			"1m}, {name: a, requests: 6, interval: 1m}]") + fmt.Sprintf(secret, "YWJk")
	r := newRig(t, twoRules+before)
	report := r.diff(false, strings.Replace(twoRules, "/open", "/wide", 1)+after)
	var got []string
	for _, f := range report.Fields {
		got = append(got, fmt.Sprintf("%s %s: %s -> %s", f.Object, f.Field, f.Before, f.After))
	}
	want := []string{
		"ClientPolicy default/gw spec.timeouts.request: 5s -> 1m30s",
		"HTTPRoute default/a spec.rules[0].matches[0].path.value: /open -> /wide",
		"TrafficPolicy default/open spec.rateLimits[a].requests: 5 -> 6",
		`TrafficPolicy default/open spec.retry: {"attempts":1} -> none`,
		"TrafficPolicy default/open spec.timeouts.stream: none -> 1m",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if report := r.diff(false, twoRules+before); !report.IsEmpty() {
		t.Errorf("nothing changes, and yet %+v", report)
	}
}

// TestFieldsOfObjectsWithoutSpec: their fields have the names that files have; of many, some are told, and the others
// counted.
func TestFieldsOfObjectsWithoutSpec(t *testing.T) {
	const objects = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: page}, data: {page.html: %s, same: x}, " +
		"binaryData: {b: %s}}\n---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s, labels: " +
		"{kubernetes.io/service-name: s}}, addressType: IPv4, endpoints: [{addresses: [%s]}], ports: []}\n"
	entries := func(n int, value string) string {
		text := "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: many}, data: {"
		for i := range n {
			text += fmt.Sprintf("k%02d: %s, ", i, value)
		}
		return text + "}}\n"
	}
	r := newRig(t, twoRules+fmt.Sprintf(objects, "a", "YQ==", "10.0.0.1")+entries(21, "a"))
	report := r.diff(false, twoRules+fmt.Sprintf(objects, "b", "Yg==", "10.0.0.2")+entries(21, "b"))
	var got strings.Builder
	if err := report.Print(&got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"      data.page.html: a -> b\n", "      binaryData.b: YQ== -> Yg==\n",
		`      endpoints[0].addresses[0]: 10.0.0.1 -> 10.0.0.2` + "\n", "      data.k19: a -> b\n      and 1 more\n"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("%q is not in\n%s", want, got.String())
		}
	}
	if strings.Contains(got.String(), "same") || report.MoreFields["ConfigMap default/many"] != 1 {
		t.Errorf("%s\n%v", got.String(), report.MoreFields)
	}
}

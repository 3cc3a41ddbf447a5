package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// TestAnswersOfStatus: an object is live when the controller of each Gateway says so of its newest spec, and refused in
// its words.
func TestAnswersOfStatus(t *testing.T) {
	const route = "apiVersion: g/v1\nkind: HTTPRoute\nmetadata: {name: web, namespace: shop, generation: 2}\n"
	parent := func(conditions string) string {
		return route + "status: {parents: [{parentRef: {name: edge, namespace: infra}, conditions: [" + conditions + "]}]}"
	}
	const refuses = "{type: Accepted, status: 'False', reason: Nope, observedGeneration: 2}"
	// parents is a route with parentRefs; each entry of its status is a parentRef and a condition.
	parents := func(refs string, entries ...string) string {
		text := route + "spec: {parentRefs: [" + refs + "]}\nstatus:\n  parents:\n"
		for _, e := range entries {
			ref, condition, _ := strings.Cut(e, "}: ")
			text += "  - {parentRef: " + ref + "}, conditions: [" + condition + "]}\n"
		}
		return text
	}
	const accepted = "{type: Accepted, status: 'True', observedGeneration: 2}"
	for name, c := range map[string]struct {
		object  string
		awaited bool
		want    string
	}{
		"nobody answers for the kind": {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", false,
			`[{"Gateway":"","Refused":""}]`},
		"no status yet": {route, true, ""},
		"accepted, of a controller that says no more": {parent(accepted), true,
			`[{"Gateway":"infra/edge","Refused":""}]`},
		"of an older spec": {parent("{type: Accepted, status: 'True', observedGeneration: 1}"), true, ""},
		"accepted, the proxies have not answered": {parent(accepted +
			", {type: cardea.dev/Programmed, status: 'False', reason: Pending, observedGeneration: 2}"), true, ""},
		"refused by the proxy": {parent(accepted +
			", {type: cardea.dev/Programmed, status: 'False', reason: RejectedByProxy, " +
			"message: never, observedGeneration: 2}"), true, `[{"Gateway":"infra/edge","Refused":"RejectedByProxy: never"}]`},
		"not accepted": {parent("{type: Accepted, status: 'False', reason: NotAllowedByListeners, message: never, " +
			"observedGeneration: 2}"), true, `[{"Gateway":"infra/edge","Refused":"NotAllowedByListeners: never"}]`},
		"two listeners of one Gateway": {route + "status: {parents: [{parentRef: {name: edge, sectionName: a}, " +
			"conditions: [" + accepted + "]}, {parentRef: {name: edge, sectionName: b}, " +
			"conditions: [{type: Accepted, status: 'False', " +
			"reason: Nope, observedGeneration: 2}]}]}", true, `[{"Gateway":"shop/edge","Refused":"Nope"}]`},
		"the controller of another parent has not answered": {parents("{name: edge}, {name: inner, namespace: infra}",
			"{name: edge}: "+accepted), true, ""},
		"one parent refuses, the other has not answered": {parents("{name: edge}, {name: inner}",
			"{name: edge}: "+refuses), true, `[{"Gateway":"shop/edge","Refused":"Nope"}]`},
		"one parent refuses, another one serves": {parents("{name: edge}, {name: inner}",
			"{name: edge}: "+accepted, "{name: inner}: "+refuses), true,
			`[{"Gateway":"shop/edge","Refused":""},{"Gateway":"shop/inner","Refused":"Nope"}]`},
		"two listeners, one is answered": {parents("{name: edge, sectionName: a}, {name: edge, sectionName: b}",
			"{name: edge, sectionName: a}: "+accepted), true, ""},
		"a parent of a kind for which nobody answers": {parents("{name: edge}, {name: web, kind: Service, group: ''}",
			"{group: gateway.networking.k8s.io, kind: Gateway, name: edge, namespace: shop}: "+accepted), true,
			`[{"Gateway":"shop/edge","Refused":""}]`},
		"a parent that the spec does not name any more": {parents("{name: edge}", "{name: edge}: "+accepted,
			"{name: inner}: {type: Accepted, status: 'True', observedGeneration: 1}"), true,
			`[{"Gateway":"shop/edge","Refused":""}]`},
		"a Gateway has to be programmed": {"apiVersion: g/v1\nkind: Gateway\n" +
			"metadata: {name: edge, namespace: infra, generation: 1}\n" +
			"status: {conditions: [{type: Accepted, status: 'True', observedGeneration: 1}]}", true, ""},
		"a Gateway that is": {"apiVersion: g/v1\nkind: Gateway\n" +
			"metadata: {name: edge, namespace: infra, generation: 1}\n" +
			"status: {conditions: [{type: Accepted, status: 'True', observedGeneration: 1}, " +
			"{type: Programmed, status: 'True', observedGeneration: 1}]}", true,
			`[{"Gateway":"infra/edge","Refused":""}]`},
		"a policy's ancestor": {"apiVersion: g/v1\nkind: RoutePolicy\nmetadata: {name: p, namespace: shop, " +
			"generation: 1}\nstatus: {ancestors: [{ancestorRef: {name: edge}, " +
			"conditions: [{type: Accepted, status: 'True', observedGeneration: 1}]}]}", true,
			`[{"Gateway":"shop/edge","Refused":""}]`},
	} {
		var o unstructured.Unstructured
		text, err := yaml.YAMLToJSON([]byte(c.object))
		if err == nil {
			err = o.UnmarshalJSON(text) // integers stay integers
		}
		if err != nil {
			t.Fatal(err)
		}
		awaits := func(k schema.GroupKind) bool { return c.awaited && k.Kind != "Service" }
		if got := answersOf(&o, o.GroupVersionKind().GroupKind(), awaits); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

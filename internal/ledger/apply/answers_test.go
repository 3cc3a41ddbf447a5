package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestAnswersOfStatus: an object is live when the controller of each Gateway says so of its newest spec, and refused in
// its words.
func TestAnswersOfStatus(t *testing.T) {
	const route = "apiVersion: g/v1\nkind: HTTPRoute\nmetadata: {name: web, namespace: shop, generation: 2}\n"
	parent := func(conditions string) string {
		return route + "status: {parents: [{parentRef: {name: edge, namespace: infra}, conditions: [" + conditions + "]}]}"
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
		if got := answersOf(&o, c.awaited); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

package apply

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

// gatewayAnswer is what the controller of a Gateway said of an object, in its status.
type gatewayAnswer struct {
	Gateway string // "infra/edge"; "": of no Gateway in particular
	Refused string // its words; "": it serves
}

// answersOf is what an object's status says about its newest spec, as text; "": not all has been said yet. A refusal is
// told at once. If nobody answers for a kind, an object serves as soon as it is there.
func answersOf(o *unstructured.Unstructured, kind schema.GroupKind, awaits func(schema.GroupKind) bool) string {
	if !awaits(kind) {
		return textOf([]gatewayAnswer{{}})
	}
	status, _ := o.Object["status"].(map[string]any)
	parts, field := status["parents"], "parentRef"
	if status["ancestors"] != nil {
		parts, field = status["ancestors"], "ancestorRef"
	}
	entries, _ := parts.([]any)
	var list []gatewayAnswer
	open, refused := status["conditions"] == nil && len(entries) == 0, false
	add := func(gateway string, conditions any) {
		words, is := readConditions(conditions, o.GetGeneration(), gateway == gatewayName(o))
		if open, refused = open || !is, refused || words != ""; is {
			list = append(list, gatewayAnswer{gateway, words})
		}
	}
	if status["conditions"] != nil {
		add(gatewayName(o), status["conditions"])
	}
	missing, states := readParentRefs(o, awaits)
	for _, e := range entries {
		entry, _ := e.(map[string]any)
		ref, _ := entry[field].(map[string]any)
		if field == "parentRef" && states && !missing.markAnswered(parentOf(ref, o.GetNamespace())) {
			continue // the spec does not name it any more, or nobody waits for its answer
		}
		add(nameOfRef(ref, o.GetNamespace()), entry["conditions"])
	}
	if !refused && (open || len(missing.unanswered) > 0) {
		return ""
	}
	return textOf(list)
}

// parent is what a parentRef names.
type parent struct {
	kind                     schema.GroupKind
	namespace, name, section string
	port                     int64
}

// parentSet has the parents of a spec; unanswered are those without an entry in the status yet.
type parentSet struct{ all, unanswered map[parent]bool }

func (s parentSet) markAnswered(p parent) bool {
	delete(s.unanswered, p)
	return s.all[p]
}

// readParentRefs are the parents that a route's spec names, if controllers answer for their kinds; states is false if
// it is no route.
func readParentRefs(o *unstructured.Unstructured, awaits func(schema.GroupKind) bool) (set parentSet, states bool) {
	refs, states, _ := unstructured.NestedSlice(o.Object, "spec", "parentRefs")
	set = parentSet{map[parent]bool{}, map[parent]bool{}}
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		if p := parentOf(ref, o.GetNamespace()); awaits(p.kind) {
			set.all[p], set.unanswered[p] = true, true
		}
	}
	return set, states
}

// parentOf is what a parentRef names, with its defaults.
func parentOf(ref map[string]any, namespace string) (p parent) {
	text := func(field string) string {
		s, _ := ref[field].(string)
		return s
	}
	p.kind = schema.GroupKind{Group: model.KindGateway.Group(), Kind: cmp.Or(text("kind"), model.KindGateway.String())}
	if stated, is := ref["group"].(string); is {
		p.kind.Group = stated
	}
	p.namespace, p.name, p.section = cmp.Or(text("namespace"), namespace), text("name"), text("sectionName")
	p.port, _ = ref["port"].(int64)
	return p
}

// gatewayName is how a Gateway's own conditions are named; "" of other kinds.
func gatewayName(o *unstructured.Unstructured) string {
	if o.GetKind() != "Gateway" {
		return ""
	}
	return o.GetNamespace() + "/" + o.GetName()
}

// nameOfRef is what a parentRef or an ancestorRef names: a Gateway, if it says nothing else.
func nameOfRef(ref map[string]any, namespace string) string {
	kind, _ := ref["kind"].(string)
	stated, _ := ref["namespace"].(string)
	name, _ := ref["name"].(string)
	name = cmp.Or(stated, namespace) + "/" + name
	if kind != "" && kind != "Gateway" {
		return kind + " " + name
	}
	return name
}

// transientReasons are reasons of conditions that will change by themselves.
var transientReasons = []string{"Pending", "NoResources", "AddressNotAssigned", "Waiting"}

// readConditions reads conditions (metav1.Condition): an object is served if it is accepted and, where a controller
// says so, programmed. strict: it has to say so.
func readConditions(conditions any, generation int64, strict bool) (refused string, is bool) {
	list, _ := conditions.([]any)
	accepted, programmed := false, !strict
	for _, c := range list {
		condition, _ := c.(map[string]any)
		kind, _ := condition["type"].(string)
		status, _ := condition["status"].(string)
		reason, _ := condition["reason"].(string)
		message, _ := condition["message"].(string)
		seen, _ := condition["observedGeneration"].(int64)
		ofProxies := kind == "Programmed" || strings.HasSuffix(kind, "/Programmed")
		switch {
		case kind != "Accepted" && !ofProxies:
			continue
		case seen < generation || status == "Unknown" || status != "True" && slices.Contains(transientReasons, reason):
			return "", false
		case status != "True":
			refused = strings.TrimSuffix(reason+": "+message, ": ")
		case ofProxies:
			programmed = true
		default:
			accepted = true
		}
	}
	return refused, refused != "" || accepted && programmed
}

// textOf writes answers so that they can be compared: each Gateway once, a refusal before what serves.
func textOf(list []gatewayAnswer) string {
	slices.SortFunc(list, func(a, b gatewayAnswer) int {
		return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(b.Refused, a.Refused))
	})
	list = slices.CompactFunc(list, func(a, b gatewayAnswer) bool { return a.Gateway == b.Gateway })
	text, err := json.Marshal(list)
	if err != nil {
		panic("apply: " + err.Error()) // it is text
	}
	return string(text)
}

// liveOf are answers as the ledger takes them.
func liveOf(k ledger.Key, cluster string, generation int64, text string) (list []ledger.Live) {
	var answers []gatewayAnswer
	if json.Unmarshal([]byte(text), &answers) != nil {
		return nil // textOf made it
	}
	for _, a := range answers {
		list = append(list, ledger.Live{Key: k, Cluster: cluster, Gateway: a.Gateway, Generation: generation,
			Refused: a.Refused})
	}
	return list
}

// answeredBefore are the answers of a generation that the ledger knows, as textOf writes them; "": none.
func answeredBefore(list []ledger.Live, cluster string, generation int64) string {
	var known []gatewayAnswer
	for _, l := range list {
		if l.Cluster == cluster && l.Generation == generation {
			known = append(known, gatewayAnswer{l.Gateway, l.Refused})
		}
	}
	if len(known) == 0 {
		return ""
	}
	return textOf(known)
}

// awaitsStatus tells whether controllers say in the status whether objects of a kind serve.
func (c *Config) awaitsStatus(k schema.GroupKind) bool {
	if c.Catalog == nil {
		return false
	}
	declared := c.Catalog.FindKind(model.KindOf(k.Group, k.Kind))
	return declared != nil && declared.Status != nil
}

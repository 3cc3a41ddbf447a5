package gateway

import (
	"fmt"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// nameSuggestions are objects that may have been meant by a name that leads to none. They are looked up for messages
// only: so nothing that serves depends on names of other objects.
type nameSuggestions struct {
	gateways *flow.Collection[string, flow.Members[model.ObjectRef, struct{}]] // by name, whatever the namespace
	classes  *flow.Collection[struct{}, flow.Members[model.ObjectRef, struct{}]]
	broken   *input.BrokenObjects
}

func newNameSuggestions(in *kinds.Sources) nameSuggestions {
	return nameSuggestions{
		gateways: flow.Group(keysOnly(in.Gateways.Collection(), "gateway/named"), "gateways by name",
			func(ref model.ObjectRef, _ struct{}) []string { return []string{ref.Name()} }, flow.ByKey),
		classes: flow.Group(keysOnly(in.GatewayClasses.Collection(), "class/named"), "class names",
			func(model.ObjectRef, struct{}) []struct{} { return []struct{}{{}} }, flow.ByKey),
		broken: in.Broken.Collection(),
	}
}

// keysOnly leaves of objects that they are there.
func keysOnly[S any](
	all *input.Collection[S], name string,
) *flow.Collection[model.ObjectRef, struct{}] {
	return flow.Map(all, name,
		func(*flow.Ctx, model.ObjectRef, input.Object[S]) (struct{}, bool) { return struct{}{}, true })
}

// describeMissingGateway says why a Gateway was not found, and which ones have its name in other namespaces.
func (n nameSuggestions) describeMissingGateway(c *flow.Ctx, ref model.ObjectRef) string {
	message := input.DescribeAbsent(c, n.broken, ref)
	if _, broken := flow.Fetch(c, n.broken, ref); broken {
		return message
	}
	var names []string
	namesakes, _ := flow.Fetch(c, n.gateways, ref.Name())
	for other := range namesakes.All() {
		names = append(names, other.NamespacedName())
	}
	if len(names) == 0 {
		return message
	}
	return fmt.Sprintf("%s; there is %s", message, model.JoinSome(names))
}

// suggestClass suggests a GatewayClass with a similar name, at the end of a message about one that does not exist; "":
// there is none.
func (n nameSuggestions) suggestClass(c *flow.Ctx, ref model.ObjectRef) string {
	if _, broken := flow.Fetch(c, n.broken, ref); broken {
		return ""
	}
	var names []string
	all, _ := flow.Fetch(c, n.classes, struct{}{})
	for other := range all.All() {
		names = append(names, other.Name())
	}
	return model.SuggestNames(ref.Name(), names)
}

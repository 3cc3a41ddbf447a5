package gateway

import (
	"fmt"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// neighbours are objects that may have been meant by a name that leads to none. They are looked up for messages only:
// so nothing that serves depends on names of other objects.
type neighbours struct {
	gateways *flow.Collection[string, flow.Members[model.ObjectRef, struct{}]] // by name, whatever the namespace
	classes  *flow.Collection[struct{}, flow.Members[model.ObjectRef, struct{}]]
	broken   *broken
}

func newNeighbours(in *kinds.Sources) neighbours {
	return neighbours{
		gateways: flow.Group(named(in.Gateways.Collection(), "gateway/named"), "gateways by name",
			func(ref model.ObjectRef, _ struct{}) []string { return []string{ref.Name()} }, flow.ByKey),
		classes: flow.Group(named(in.GatewayClasses.Collection(), "class/named"), "class names",
			func(model.ObjectRef, struct{}) []struct{} { return []struct{}{{}} }, flow.ByKey),
		broken: in.Broken.Collection(),
	}
}

// named leaves of objects that they are there.
func named[S any](
	all *input.Collection[S], name string,
) *flow.Collection[model.ObjectRef, struct{}] {
	return flow.Map(all, name,
		func(*flow.Ctx, model.ObjectRef, input.Object[S]) (struct{}, bool) { return struct{}{}, true })
}

// gateway says why a Gateway was not found, and which ones have its name in other namespaces.
func (n neighbours) gateway(c *flow.Ctx, ref model.ObjectRef) string {
	message := absent(c, n.broken, ref)
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
	return fmt.Sprintf("%s; there is %s", message, listed(names))
}

// class suggests a GatewayClass with a similar name, at the end of a message about one that does not exist; "": there
// is none.
func (n neighbours) class(c *flow.Ctx, ref model.ObjectRef) string {
	if _, broken := flow.Fetch(c, n.broken, ref); broken {
		return ""
	}
	var names []string
	all, _ := flow.Fetch(c, n.classes, struct{}{})
	for other := range all.All() {
		names = append(names, other.Name())
	}
	return model.Meant(ref.Name(), names)
}

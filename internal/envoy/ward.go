package envoy

import (
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/resource"
)

// ward makes what routes are tried in: a listener that binds no port, with the filters of those that serve.
type ward struct{}

// wardStats is its prefix in Envoy's statistics.
const wardStats = "ward"

// Listener has an address only because each has to have one.
func (ward) Listener(name, table string) resource.Resource {
	return newResource(newPart("", mustMarshal(&listenerv3.Listener{
		Name:               name,
		StatPrefix:         wardStats,
		Address:            socketAddress("127.0.0.1", 1),
		BindToPort:         wrapperspb.Bool(false),
		DefaultFilterChain: &listenerv3.FilterChain{Name: "http", Filters: []*listenerv3.Filter{connectionManager(wardStats, table)}},
	})))
}

// Table has one virtual host, for all hosts.
func (ward) Table(name string, pieces [][]byte) resource.Resource {
	v := assembly{routes: pieces}
	return newResource(tableHead(name), v.part("*"))
}

// Pieces knows the rule of a route by the route's name.
func (ward) Pieces(p *resource.Part) map[resource.Origin][][]byte {
	pieces := map[resource.Origin][][]byte{}
	for _, piece := range p.Bytes {
		if rule, ok := RuleNamed(routeName(piece)); ok {
			o := ruleOrigin(rule)
			pieces[o] = append(pieces[o], piece)
		}
	}
	return pieces
}

// routeName reads Route.name of the first route of a piece as encodeRoute writes it; "" if it is no route.
func routeName(piece []byte) string {
	const name = protowire.Number(14)
	number, kind, n := protowire.ConsumeTag(piece)
	if n < 0 || number != routesField || kind != protowire.BytesType {
		return ""
	}
	route, n := protowire.ConsumeBytes(piece[n:])
	for n >= 0 && len(route) > 0 {
		number, kind, tag := protowire.ConsumeTag(route)
		if tag < 0 {
			return ""
		}
		if number == name && kind == protowire.BytesType {
			value, _ := protowire.ConsumeString(route[tag:])
			return value
		}
		skip := protowire.ConsumeFieldValue(number, kind, route[tag:])
		if skip < 0 {
			return ""
		}
		route = route[tag+skip:]
	}
	return ""
}

var _ resource.Ward = ward{}

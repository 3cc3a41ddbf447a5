package envoy

import (
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/resource"
)

// trials makes what routes and filter chains are tried in: listeners that bind no port, with the filters of those that
// serve.
type trials struct{}

// trialStats is their prefix in Envoy's statistics.
const trialStats = "trial"

// Each trial listener has an address only because it has to have one, and no other may have the same.
const (
	trialPort = iota + 1
	trialChainsPort
)

// Listener looks requests up in a table.
func (trials) Listener(name, table string) resource.Resource {
	l := trialListener(name, trialPort)
	l.DefaultFilterChain = &listenerv3.FilterChain{Name: "http",
		Filters: []*listenerv3.Filter{connectionManager(trialStats, table)}}
	return resource.Join(newPart("", mustMarshal(l)))
}

func trialListener(name string, port int32) *listenerv3.Listener {
	return &listenerv3.Listener{
		Name: name, StatPrefix: trialStats, Address: socketAddress("127.0.0.1", port), BindToPort: wrapperspb.Bool(false),
	}
}

// Trial is a table with one virtual host, for all hosts, or a listener with filter chains.
func (trials) Trial(t resource.Type, name string, pieces [][]byte) resource.Resource {
	if t == resource.Listener {
		l := trialListener(name, trialChainsPort)
		l.ListenerFilters = tlsInspector()
		return resource.Join(newPart("", append([][]byte{mustMarshal(l)}, pieces...)...))
	}
	v := assembly{routes: pieces}
	return resource.Join(tableHead(name), v.part("*"))
}

// Pieces knows the rule of a route by the route's name, and tries a setting of a table or a virtual host as that of a
// route. A filter chain is one piece; the rest of a listener can't be
// tried apart.
func (trials) Pieces(t resource.Type, p *resource.Part) map[resource.Origin][][]byte {
	pieces := map[resource.Origin][][]byte{}
	if t == resource.Listener {
		if strings.HasPrefix(p.ID, chainPrefix) && len(p.Fragments) > 0 {
			pieces[p.Fragments[0].Origin] = p.Bytes
		}
		return pieces
	}
	rules := rulesByName(p)
	for _, piece := range p.Bytes {
		for name, trial := range settingTrials(piece) {
			if at := slices.IndexFunc(p.Fragments, func(f resource.Fragment) bool {
				return isSetting(f) && f.Origin.Section == name
			}); at >= 0 {
				pieces[p.Fragments[at].Origin] = append(pieces[p.Fragments[at].Origin], trial)
			}
		}
		if rule, ok := rules[routeName(piece)]; ok {
			pieces[rule] = append(pieces[rule], piece)
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

var _ resource.Trials = trials{}

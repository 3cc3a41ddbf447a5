package envoy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// trialBuilder makes what routes, filter chains and entries of extensions are tried in: listeners that bind no port,
// with the filters of those that serve.
type trialBuilder struct{}

// trialStats is their prefix in Envoy's statistics.
const trialStats = "trial"

// trialPort is in a trial listener's address, since it has to have one. No other listener may have the same.
const trialPort = 1

// BuildListener looks requests up in a table.
func (trialBuilder) BuildListener(name, table string) resource.Resource {
	l := trialListener(name)
	l.DefaultFilterChain = &listenerv3.FilterChain{Name: "http",
		Filters: []*listenerv3.Filter{connectionManager(trialStats, table, listenerFields{}, accessLogs{})}}
	return resource.JoinParts(message.NewPart("", message.MustMarshal(l)))
}

func trialListener(name string) *listenerv3.Listener {
	return &listenerv3.Listener{
		Name: name, StatPrefix: trialStats,
		Address: message.SocketAddress("127.0.0.1", trialPort), BindToPort: wrapperspb.Bool(false),
	}
}

// BuildTrial is a table with one virtual host, for all hosts, or a listener with filter chains.
func (trialBuilder) BuildTrial(t resource.Type, name string, pieces [][]byte) resource.Resource {
	if t == xdstypes.Listener {
		l := trialListener(name)
		l.ListenerFilters = tlsInspector(listenerFields{})
		return resource.JoinParts(message.NewPart("", append([][]byte{message.MustMarshal(l)}, pieces...)...))
	}
	v := hostBuilder{routes: pieces}
	return resource.JoinParts(tableHead(name), v.buildPart("*"))
}

// SplitPieces knows the rule of a route by the route's name, and tries a setting of a table or a virtual host as that
// of a route. A filter chain is one piece; the rest of a listener can't be tried apart. An entry of an extension is
// tried in a filter chain that has its filter.
func (trialBuilder) SplitPieces(t resource.Type, p *resource.Part) map[resource.Origin][][]byte {
	switch {
	case t == xdstypes.Routes:
		return routePieces(p)
	case len(p.Fragments) == 0:
	case t == xdstypes.Extension && p.ID != connectionPartID:
		return map[resource.Origin][][]byte{p.Fragments[0].Origin: {entryTrial(p)}}
	case t == xdstypes.Listener && strings.HasPrefix(p.ID, chainPrefix):
		return map[resource.Origin][][]byte{p.Fragments[0].Origin: p.Bytes}
	}
	return nil
}

func routePieces(p *resource.Part) map[resource.Origin][][]byte {
	pieces := map[resource.Origin][][]byte{}
	rules := naming.RulesByName(p)
	for _, piece := range p.Bytes {
		for name, trial := range settingTrials(piece) {
			if at := slices.IndexFunc(p.Fragments, func(f resource.Fragment) bool {
				return f.Setting && f.Origin.Section == name
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

// entryTrial is a filter chain with the filter of an extension that has this entry only. It has server names of its
// own, since it may be tried beside others.
func entryTrial(p *resource.Part) []byte {
	slot, _, _ := strings.Cut(p.Fragments[0].Origin.Section, "/")
	config := httpfilters.SharedConfig(slot)
	config.Value = slices.Concat(append([][]byte{config.GetValue()}, p.Bytes...)...)
	m := &hcmv3.HttpConnectionManager{
		StatPrefix:     trialStats,
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{}},
		HttpFilters: []*hcmv3.HttpFilter{
			{Name: slot, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: config}}, message.RouterFilter(),
		},
	}
	chain := &listenerv3.FilterChain{Filters: []*listenerv3.Filter{managerFilter(m)}}
	host := fmt.Sprintf("%x.%x.trial", xxhash.Sum64String(slot+p.ID), p.Hash)
	return filterChainPart(chain, host).Bytes[0]
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

var _ resource.TrialBuilder = trialBuilder{}

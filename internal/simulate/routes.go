package simulate

import (
	"maps"
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
)

// Route is a route as it was rendered.
type Route struct {
	Name    string
	Match   *routev3.RouteMatch
	Content string // equal for equal routes

	rendered *routev3.Route
}

// Routes are those of the virtual host that has a domain of a table, in order; none if there is no such domain.
func (c *Config) Routes(tableName, domain string) []Route {
	t := c.tables[tableName]
	if t == nil {
		return nil
	}
	h := t.exact[domain]
	switch {
	case domain == "*":
		h = t.every
	case strings.HasPrefix(domain, "*"):
		if i := slices.IndexFunc(t.tails, func(w wildcard) bool { return w.text == domain[1:] }); i >= 0 {
			h = t.tails[i].host
		}
	}
	if h == nil {
		return nil
	}
	v, err := h.virtualHost()
	if err != nil {
		return nil
	}
	var list []Route
	for _, r := range v.GetRoutes() {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(r)
		if err != nil {
			continue // it came from bytes
		}
		list = append(list, Route{r.GetName(), r.GetMatch(), string(b), r})
	}
	return list
}

// Entrances are requests, but for host and path, that are looked up in a table: one for each listener and filter chain
// that names it.
func (c *Config) Entrances(table string) (list []Request) {
	for _, name := range slices.Sorted(maps.Keys(c.listeners)) {
		l := c.listeners[name]
		socket := l.GetAddress().GetSocketAddress()
		for _, chain := range append(slices.Clone(l.GetFilterChains()), l.GetDefaultFilterChain()) {
			if tableOf(chain) != table || chain == nil {
				continue
			}
			r := Request{Address: socket.GetAddress(), Port: socket.GetPortValue(), TLS: chain.GetTransportSocket() != nil}
			names := chain.GetFilterChainMatch().GetServerNames()
			if r.TLS && len(names) > 0 {
				r.SNI = HostOf(names[0])
			}
			list = append(list, r)
		}
	}
	return list
}

func tableOf(chain *listenerv3.FilterChain) string {
	for _, f := range chain.GetFilters() {
		m := new(hcmv3.HttpConnectionManager)
		if f.GetTypedConfig().UnmarshalTo(m) == nil {
			return m.GetRds().GetRouteConfigName()
		}
	}
	return ""
}

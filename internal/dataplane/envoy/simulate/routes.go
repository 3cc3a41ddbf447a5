package simulate

import (
	"maps"
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/request"
)

// Route is a route as it was rendered.
type Route struct {
	Name    string
	Match   *routev3.RouteMatch
	Content string // equal for equal routes
	// Around is what its table and its virtual host state for all routes: equal for equal statements.
	Around string

	rendered *routev3.Route
	levels   []map[string]*anypb.Any // settings of filters of its table, its virtual host and itself
}

// ListRoutes are those of the virtual host that has a domain of a table, in order; none if there is no such domain.
func (c *Config) ListRoutes(tableName, domain string) []Route {
	t := c.tables[tableName]
	if t == nil {
		return nil
	}
	h := t.exact[domain]
	switch {
	case domain == "*":
		h = t.catchAll
	case strings.HasPrefix(domain, "*"):
		if i := slices.IndexFunc(t.suffixes, func(w wildcard) bool { return w.text == domain[1:] }); i >= 0 {
			h = t.suffixes[i].host
		}
	}
	if h == nil {
		return nil
	}
	v, err := h.decodeHost()
	if err != nil {
		return nil
	}
	around := encodeContent(t.head) + encodeContent(&routev3.VirtualHost{
		TypedPerFilterConfig: v.GetTypedPerFilterConfig(), RequestHeadersToAdd: v.GetRequestHeadersToAdd(),
		RequestHeadersToRemove: v.GetRequestHeadersToRemove(), ResponseHeadersToAdd: v.GetResponseHeadersToAdd(),
		ResponseHeadersToRemove: v.GetResponseHeadersToRemove(), RequireTls: v.GetRequireTls(),
	})
	var list []Route
	for _, r := range v.GetRoutes() {
		list = append(list, Route{
			Name: r.GetName(), Match: r.GetMatch(), Content: encodeContent(r), Around: around, rendered: r,
			levels: filterSettingsOf(t, v, r),
		})
	}
	return list
}

// encodeContent is equal for equal messages.
func encodeContent(m proto.Message) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err) // it came from bytes
	}
	return string(b)
}

// filterSettingsOf are the settings of filters that count for a route, from far to near.
func filterSettingsOf(t *table, v *routev3.VirtualHost, r *routev3.Route) []map[string]*anypb.Any {
	return []map[string]*anypb.Any{
		t.head.GetTypedPerFilterConfig(), v.GetTypedPerFilterConfig(), r.GetTypedPerFilterConfig(),
	}
}

// EntryRequests are requests, but for host and path, that are looked up in a table: one for each listener and filter
// chain that names it.
func (c *Config) EntryRequests(table string) (list []request.Request) {
	for _, name := range slices.Sorted(maps.Keys(c.listeners)) {
		l := c.listeners[name]
		socket := l.GetAddress().GetSocketAddress()
		for _, chain := range append(slices.Clone(l.GetFilterChains()), l.GetDefaultFilterChain()) {
			if tableNameOf(chain) != table || chain == nil {
				continue
			}
			r := request.Request{Address: socket.GetAddress(), Port: socket.GetPortValue()}
			r.TLS = chain.GetTransportSocket() != nil
			names := chain.GetFilterChainMatch().GetServerNames()
			if r.TLS && len(names) > 0 {
				r.SNI = request.HostOf(names[0])
			}
			list = append(list, r)
		}
	}
	return list
}

func tableNameOf(chain *listenerv3.FilterChain) string {
	for _, f := range chain.GetFilters() {
		m := new(hcmv3.HttpConnectionManager)
		if f.GetTypedConfig().UnmarshalTo(m) == nil {
			return m.GetRds().GetRouteConfigName()
		}
	}
	return ""
}

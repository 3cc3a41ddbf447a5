package simulate

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
)

// Words tells what a match takes: "paths below /cart, method is "GET"".
func Words(m *routev3.RouteMatch) string {
	var words []string
	switch p := m.GetPathSpecifier().(type) {
	case *routev3.RouteMatch_Prefix:
		if words = append(words, "paths that begin with "+p.Prefix); p.Prefix == "/" {
			words[0] = "every path"
		}
	case *routev3.RouteMatch_PathSeparatedPrefix:
		words = append(words, "paths below "+p.PathSeparatedPrefix)
	case *routev3.RouteMatch_Path:
		words = append(words, "path "+p.Path)
	case *routev3.RouteMatch_SafeRegex:
		words = append(words, "paths that match "+p.SafeRegex.GetRegex())
	}
	for _, h := range m.GetHeaders() {
		name, found := strings.CutPrefix(h.GetName(), ":")
		if !found {
			name = "header " + name
		}
		words = append(words, name+" is "+wanted(h.GetStringMatch()))
	}
	for _, q := range m.GetQueryParameters() {
		words = append(words, "query parameter "+q.GetName()+" is "+wanted(q.GetStringMatch()))
	}
	if m.GetGrpc() != nil {
		words = append(words, "gRPC")
	}
	return strings.Join(words, ", ")
}

package simulate

import (
	"net/http"
	"net/netip"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/request"
)

// simulation is one request on its way, or one connection.
type simulation struct {
	config          *Config
	datagrams       bool            // it is a session of these, and no request
	client          netip.Addr      // the client's address; zero: it is not known
	sent            request.Request // as the client sends it
	current         request.Request // as it is at this point
	share           float64         // of the requests like it, that get here
	manager         *hcmv3.HttpConnectionManager
	filters         []*hcmv3.HttpFilter // of the connection manager, without the router
	usesPeerAddress bool                // the client's address is the connection's
	gates           []request.Verdict   // that the request has passed, if what they say is so
	result          Result
}

func newSimulation(c *Config, r request.Request) *simulation {
	return &simulation{config: c, sent: r, current: r.Clone(), share: 1}
}

// SimulateRequest tells what would happen to a request.
func (c *Config) SimulateRequest(r request.Request) Result {
	s := newSimulation(c, r)
	if host, v := s.findVirtualHost(); v != nil {
		s.followRoutes(host, v)
	}
	s.settleSource()
	return s.result
}

// findVirtualHost follows a request up to its virtual host; nil if it ends before.
func (s *simulation) findVirtualHost() (*table, *routev3.VirtualHost) {
	l := s.findListener()
	if l == nil {
		return nil, nil
	}
	chain := s.findFilterChain(l)
	if chain == nil {
		return nil, nil
	}
	manager := s.findManager(chain)
	if manager == nil || !s.applyManager(manager) {
		return nil, nil
	}
	t := s.findTable(manager)
	if t == nil {
		return nil, nil
	}
	h := t.findHost(s.current.Host)
	if h == nil {
		s.addAnswer(http.StatusNotFound)
		return nil, nil
	}
	v, err := h.decodeHost()
	if err != nil {
		s.setUndecided("VirtualHost")
		return nil, nil
	}
	s.result.VirtualHost = v.GetName()
	s.noteUnknownFields(v, "name", "domains", "routes", "request_headers_to_add", "request_headers_to_remove",
		"response_headers_to_add",
		"response_headers_to_remove", "typed_per_filter_config", "virtual_clusters")
	return t, v
}

// followRoutes finds the route of a request, and follows it.
func (s *simulation) followRoutes(t *table, v *routev3.VirtualHost) {
	if v.GetMatcher() != nil || v.GetRequireTls() != routev3.VirtualHost_NONE {
		s.result.Undecided = true // survey has named it
		return
	}
	rest := wholePortion()
	for _, r := range v.GetRoutes() {
		misses, decided := s.findMismatches(r.GetMatch())
		if !decided {
			s.result.Undecided = true
			return
		}
		if len(misses) > 0 {
			continue
		}
		taken, known := rest.takeShare(r.GetMatch().GetRuntimeFraction())
		if !known {
			s.setUndecided("RouteMatch.runtime_fraction of another denominator")
			return
		}
		if s.share = taken; taken > 0 {
			s.applyRoute(t, v, r)
		}
		if rest.isEmpty() {
			return
		}
	}
	s.share = rest.size()
	s.addAnswer(http.StatusNotFound)
}

// RouteComparison is a route that was compared with a request.
type RouteComparison struct {
	Route      string
	Match      *routev3.RouteMatch
	Mismatches []string // why it doesn't take the request; none: it would
}

// CompareRoutes compares a request with all routes of its virtual host, in their order; the first that misses nothing
// gets it. way is how far the request comes: without outcomes.
func (c *Config) CompareRoutes(r request.Request) (list []RouteComparison, way Result) {
	s := newSimulation(c, r)
	_, v := s.findVirtualHost()
	if v == nil {
		return nil, s.result
	}
	for _, route := range v.GetRoutes() {
		misses, decided := s.findMismatches(route.GetMatch())
		if !decided {
			misses = append(misses, "its match can't be simulated")
		}
		list = append(list, RouteComparison{route.GetName(), route.GetMatch(), misses})
	}
	return list, s.result
}

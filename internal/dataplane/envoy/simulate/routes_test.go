package simulate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/protobuf/encoding/protojson"

	"cardea.dev/cardea/internal/core/request"
)

// newConfig reads the resources of a txtar.
func newConfig(t *testing.T, text string) *Config {
	t.Helper()
	c := New()
	for _, f := range txtar.Parse([]byte(text)).Files {
		addFile(t, c, f)
	}
	return c
}

const manager = `{name: http, typed_config: {
    "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager,
    rds: {route_config_name: %s, config_source: {ads: {}}},
    http_filters: [
      {name: own, disabled: true, typed_config: {
        "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz}},
      {name: router, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}]}}`

var twoListeners = fmt.Sprintf(`
-- listener.a.yaml --
name: a
address: {socket_address: {address: 0.0.0.0, port_value: 80}}
default_filter_chain: {filters: [%s]}
-- listener.b.yaml --
name: b
address: {socket_address: {address: "::1", port_value: 443}}
filter_chains:
- filter_chain_match: {server_names: ["*.ex"]}
  transport_socket: {name: tls}
  filters: [%[1]s]
- filter_chain_match: {server_names: [other]}
  filters: [%s]
-- routes.t.yaml --
name: t
virtual_hosts:
- name: v
  domains: [a.ex]
  routes:
  - {name: one, match: {path: /one, headers: [{name: x, string_match: {exact: "1"}}]}, direct_response: {status: 200},
     typed_per_filter_config: {own: {
       "@type": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute}}}
  - {name: one, match: {path_separated_prefix: /two}, direct_response: {status: 200}}
  - {name: state, match: {path: /one, filter_state: [{key: a, string_match: {exact: b}}]},
     direct_response: {status: 200}}
- {name: w, domains: ["*.ex"], request_headers_to_remove: [x], routes: [
    {name: wide, match: {prefix: /}, direct_response: {status: 200}}]}
- {name: every, domains: ["*"], routes: [{name: every, match: {prefix: /}, direct_response: {status: 200}}]}
`, fmt.Sprintf(manager, "t"), fmt.Sprintf(manager, "u"))

// TestListRoutes: the routes of a domain are those of its own virtual host, not of one that covers it. What stands
// around them tells apart virtual hosts that state something for all of their routes.
func TestListRoutes(t *testing.T) {
	c := newConfig(t, twoListeners)
	names := func(table, domain string) (list []string) {
		for _, r := range c.ListRoutes(table, domain) {
			list = append(list, r.Name)
		}
		return list
	}
	for domain, want := range map[string][]string{
		"a.ex": {"one", "one", "state"}, "*.ex": {"wide"}, "*": {"every"}, "b.ex": nil, "*.b.ex": nil,
	} {
		if got := names("t", domain); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", domain, got, want)
		}
	}
	if got := names("none", "a.ex"); got != nil {
		t.Errorf("no table has %q", got)
	}
	a, wide, every := c.ListRoutes("t", "a.ex"), c.ListRoutes("t", "*.ex")[0], c.ListRoutes("t", "*")[0]
	if a[0].Content == a[1].Content || a[0].Around != a[1].Around {
		t.Error("two routes of a virtual host are equal, or what stands around them differs")
	}
	if a[0].Around != every.Around || a[0].Around == wide.Around {
		t.Error("what stands around routes depends on something else than what their virtual host states")
	}
}

// TestEntryRequests: each listener and chain that names a table leads to it, with the chain's first server name.
func TestEntryRequests(t *testing.T) {
	c := newConfig(t, twoListeners)
	for table, want := range map[string]string{
		"t": "0.0.0.0:80 tls=false sni=, ::1:443 tls=true sni=" + request.HostOf("*.ex"),
		"u": "::1:443 tls=false sni=", "none": "",
	} {
		var list []string
		for _, r := range c.EntryRequests(table) {
			list = append(list, fmt.Sprintf("%s:%d tls=%t sni=%s", r.Address, r.Port, r.TLS, r.SNI))
		}
		if got := strings.Join(list, ", "); got != want {
			t.Errorf("%s: %q, want %q", table, got, want)
		}
	}
}

// TestCompareRoutes: each route of the request's host is told what it misses, in order; none if the request gets to no
// virtual host.
func TestCompareRoutes(t *testing.T) {
	c := newConfig(t, twoListeners)
	get := func(host, path string) request.Request {
		return request.Request{Method: "GET", Port: 80, Host: host, Path: path, Header: http.Header{}}
	}
	for _, test := range []struct {
		request request.Request
		want    []string
	}{
		{get("a.ex", "/one"), []string{`one: header x is absent, want "1"`, "one: path /one is not below /two",
			"state: its match can't be simulated"}},
		{get("a.ex", "/two/x"), []string{`one: path /two/x is not /one; header x is absent, want "1"`, "one: ",
			"state: path /two/x is not /one"}},
		{get("b.com", "/"), []string{"every: "}},
		{request.Request{Method: "GET", Port: 81, Host: "a.ex", Path: "/"}, nil},
	} {
		list, _ := c.CompareRoutes(test.request)
		var got []string
		for _, r := range list {
			got = append(got, r.Route+": "+strings.Join(r.Mismatches, "; "))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s%s: %q, want %q", test.request.Host, test.request.Path, got, test.want)
		}
	}
}

// TestDescribeMatch: a match is told in words.
func TestDescribeMatch(t *testing.T) {
	for match, want := range map[string]string{
		`{"prefix": "/"}`:                            "every path",
		`{"prefix": "/a"}`:                           "paths that begin with /a",
		`{"pathSeparatedPrefix": "/a"}`:              "paths below /a",
		`{"path": "/a"}`:                             "path /a",
		`{"path": "a"}`:                              "no path",
		`{"safeRegex": {"regex": "a+"}, "grpc": {}}`: "paths that match a+, gRPC",
		`{"connectMatcher": {}}`:                     "some paths",
		`{"path": "/a", "headers": [{"name": ":method", "stringMatch": {"exact": "PUT"}},
			{"name": "x", "stringMatch": {"safeRegex": {"regex": "1+"}}}, {"name": "y", "presentMatch": true}],
			"queryParameters": [{"name": "q", "stringMatch": {"exact": "2"}}]}`: "path /a, method PUT, " +
			"header x that matches 1+, header y, query parameter q: 2",
	} {
		m := new(routev3.RouteMatch)
		if err := protojson.Unmarshal([]byte(match), m); err != nil {
			t.Fatal(err)
		}
		if got := DescribeMatch(m).String(); got != want {
			t.Errorf("%s: %q, want %q", match, got, want)
		}
	}
}

// TestGates: a filter that is not simulated is asked by its feature: the verdict answers, or what has to be so is told.
func TestGates(t *testing.T) {
	for name, c := range map[string]struct {
		gates func(string, request.GateKey) (request.Gate, bool)
		want  string
	}{
		"nobody knows":          {nil, "one 200 not simulated: own"},
		"it is another's":       {verdicts(false), "one 200 not simulated: own"},
		"it passes":             {verdicts(true), "one 200"},
		"it refuses":            {verdicts(true, request.Verdict{Status: 401, Why: "no token"}), "one 401"},
		"the first one answers": {verdicts(true, request.Verdict{Status: 403}, request.Verdict{Status: 401}), "one 403"},
	} {
		config := newConfig(t, twoListeners)
		config.Gates = c.gates
		r := request.Request{Method: "GET", Port: 80, Host: "a.ex", Path: "/one", Header: http.Header{"X": {"1"}}}
		if got := tell(config.SimulateRequest(r)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	config := newConfig(t, twoListeners)
	config.Gates = verdicts(true, request.Verdict{Status: 403, If: "it has a token", ByAddress: true})
	result := config.SimulateRequest(request.Request{Method: "GET", Port: 80, Host: "a.ex", Path: "/one",
		Header: http.Header{"X": {"1"}}})
	if gates := result.Outcomes[0].Gates; len(gates) != 1 || gates[0].If != "it has a token" {
		t.Errorf("its gates are %+v", gates)
	}
}

func verdicts(known bool, list ...request.Verdict) func(string, request.GateKey) (request.Gate, bool) {
	return func(route string, key request.GateKey) (request.Gate, bool) {
		return request.Gate{Feature: "test", Judge: func(request.Request) []request.Verdict {
			return list
		}}, known && route == "one"
	}
}

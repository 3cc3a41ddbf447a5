package extend

import (
	"slices"
	"strings"
	"testing"
)

// TestCheckIdentityHeader: no header is taken off that a request needs, or that steers the proxy.
func TestCheckIdentityHeader(t *testing.T) {
	for _, name := range []string{
		"Authorization", "cookie", "Origin", "content-type", "x-envoy-retry-on", "X-Forwarded-For", "x-forwarded-client-cert",
		"x-cardea-no-key", "x-gateway-destination-endpoint", "access-control-request-method", ":path", "host",
		"transfer-encoding", "a b", "",
	} {
		if CheckIdentityHeader(name) == "" {
			t.Errorf("%q is taken", name)
		}
	}
	for _, name := range []string{"x-user", "X-Role", "from", "x-request-team"} {
		if why := CheckIdentityHeader(name); why != "" {
			t.Errorf("%q: %s", name, why)
		}
	}
}

// TestHeaderNames: an expression tells which headers it reads, or that it may read any.
func TestHeaderNames(t *testing.T) {
	for cel, want := range map[string]string{
		"request.method == 'GET'":                                         "",
		"request.headers['X-A'] == '1' && 'x-b' in request.headers":       "x-a x-b",
		"request.headers[request.path] == '1'":                            AnyHeader,
		"request['headers']['x-a'] == '1'":                                AnyHeader,
		"size(request.headers) > 3":                                       AnyHeader,
		"has(request.headers) && request.headers['x-a'] == '1'":           AnyHeader,
		"request.headers['x-a'] in ['request.headers']":                   "x-a",
		"metadata.filter_metadata['a']['b'] == request.headers['x-name']": "x-name",
	} {
		m := RequestMatch{RequestParts: RequestParts{CEL: cel}}
		if got := strings.Join(m.HeaderNames(), " "); got != want {
			t.Errorf("%s reads %q, want %q", cel, got, want)
		}
	}
	m := RequestMatch{
		RequestParts: RequestParts{Headers: []NamedMatch{{Name: "X-A"}}},
		Not:          &RequestParts{Headers: []NamedMatch{{Name: "b"}}},
	}
	if got := m.HeaderNames(); !slices.Equal(got, []string{"x-a", "b"}) {
		t.Errorf("headers read are %q", got)
	}
}

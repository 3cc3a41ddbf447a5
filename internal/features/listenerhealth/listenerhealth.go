// Package listenerhealth is the feature `healthCheck` of a ClientPolicy: a path by which load balancers in front of
// proxies ask them whether they take requests.
//
// It owns the field and what Envoy makes of it. It must never know how policies are attached. Start reading at Feature.
package listenerhealth

import (
	_ "embed"
	"net/http"
	"regexp"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	healthcheckv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/health_check/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Spec is what proxies answer by themselves.
type Spec struct {
	// Path that the proxy answers with 200, and with 503 while it drains, in place of every route and policy and for every
	// host. It is compared without the query.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	Path string `json:"path"`
}

// Value is the path as read; "": none can be answered.
type Value struct{ Path string }

// Feature is a path by which load balancers ask proxies whether they take requests.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.ClientPolicy, Name: "healthCheck", Schema: schema, Levels: extend.AtListener, OnInvalid: extend.Keep,
	Read: read, Envoy: extend.EnvoyFuncs[Value]{Listener: render}, Judge: judge,
}

// plain is a path that proxies leave as it is before they compare it, but for segments of dots.
var plain = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*/?$`)

func read(r extend.Reader, s Spec) Value {
	if wrong := check(s.Path); wrong != "" {
		r.Field("path").Refuse(wrong)
		return Value{}
	}
	return Value{s.Path}
}

// check says why a path would never be asked for; "" if it can be.
func check(path string) string {
	switch {
	case !strings.HasPrefix(path, "/"):
		return "a path begins with a slash"
	case !plain.MatchString(path):
		return "it can't be asked for: a path is compared without a query, percent escapes and double slashes; take them out"
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "it can't be asked for: . and .. are resolved before paths are compared; write the path that they lead to"
		}
	}
	return ""
}

func render(e extend.EnvoyListener, v Value) {
	if v.Path == "" {
		return
	}
	e.HTTPFilter("health_check", &healthcheckv3.HealthCheck{
		PassThroughMode: wrapperspb.Bool(false),
		Headers: []*routev3.HeaderMatcher{{
			Name: ":path",
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
				MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{
					Regex: regexp.QuoteMeta(v.Path) + `(\?.*)?`,
				}},
			}},
		}},
	})
}

// judge answers as a proxy that does not drain.
func judge(q extend.Request, v Value) []extend.Verdict {
	if v.Path != "" && q.URLPath() == v.Path {
		return []extend.Verdict{{Status: http.StatusOK}}
	}
	return nil
}

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
	Read: readSpec, Renders: renders, Judge: judgeRequest,
}

// plainPath is a path that proxies leave as it is before they compare it, but for segments of dots.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~!$&'()*+,;=:@-]+)*/?$`)

func readSpec(r extend.Reader, s Spec) Value {
	if wrong := checkPath(s.Path); wrong != "" {
		r.Field("path").Refuse(wrong)
		return Value{}
	}
	return Value{s.Path}
}

// checkPath says why a path would never be asked for; "" if it can be.
func checkPath(path string) string {
	switch {
	case !strings.HasPrefix(path, "/"):
		return "a path begins with a slash"
	case !plainPath.MatchString(path):
		return "no request can match it: a path is compared without a query, percent escapes and double slashes; remove them"
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return "no request can match it: . and .. are resolved before paths are compared; write the resolved path"
		}
	}
	return ""
}

// judgeRequest answers as a proxy that does not drain.
func judgeRequest(q extend.Request, v Value) []extend.Verdict {
	if v.Path != "" && q.URLPath() == v.Path {
		return []extend.Verdict{{Status: http.StatusOK}}
	}
	return nil
}

package simulate

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
)

// Stimuli are requests like one that the route takes, which show what is done to some only: with the headers that the
// route changes in a request, and of each origin that it, its virtual host or its table allows, one as a browser sends
// it, and the preflight of one.
func (r Route) Stimuli(taken request.Request) (list []request.Request) {
	if headers := r.changedHeaders(); len(headers) > 0 {
		with := taken.Clone()
		for _, name := range headers {
			if with.Header.Get(name) == "" {
				with.Header.Set(name, "witness")
			}
		}
		list = append(list, with)
	}
	for _, origin := range r.allowedOrigins() {
		plain := taken.Clone()
		plain.Header.Set("Origin", origin)
		preflight := plain.Clone()
		preflight.Method = http.MethodOptions
		if preflight.Header.Get("Access-Control-Request-Method") == "" {
			preflight.Header.Set("Access-Control-Request-Method", taken.Method)
		}
		preflight.Header.Set("Access-Control-Request-Headers", "x-witness")
		list = append(list, plain, preflight)
	}
	return list
}

// allowedOrigins are examples of the origins that some level allows, the nearest first, each once.
func (r Route) allowedOrigins() (list []string) {
	for _, level := range slices.Backward(r.levels) {
		for _, name := range slices.Sorted(maps.Keys(level)) {
			policy := new(corsv3.CorsPolicy)
			if level[name].UnmarshalTo(policy) != nil {
				continue
			}
			for _, m := range policy.GetAllowOriginStringMatch() {
				if origin := originOf(exampleOf(m)); !slices.Contains(list, origin) {
					list = append(list, origin)
				}
			}
		}
	}
	return list
}

// originOf is an example of an origin as browsers write it: in lower case, without a port that the scheme implies.
// Where every one is allowed, it is any.
func originOf(example string) string {
	origin := cmp.Or(strings.ToLower(strings.TrimPrefix(example, "*")), "https://any.example")
	for scheme, port := range map[string]string{"https://": ":443", "http://": ":80"} {
		if strings.HasPrefix(origin, scheme) {
			origin = strings.TrimSuffix(origin, port)
		}
	}
	return origin
}

// changedHeaders are the headers of requests that the route changes, whichever cluster gets them.
func (r Route) changedHeaders() (names []string) {
	note := func(add []*corev3.HeaderValueOption, remove []string) {
		for _, o := range add {
			if name := o.GetHeader().GetKey(); name != model.LoopHeader { // the proxy's own; nobody states it in a rule
				names = append(names, name)
			}
		}
		names = append(names, remove...)
	}
	note(r.rendered.GetRequestHeadersToAdd(), r.rendered.GetRequestHeadersToRemove())
	for _, w := range r.rendered.GetRoute().GetWeightedClusters().GetClusters() {
		note(w.GetRequestHeadersToAdd(), w.GetRequestHeadersToRemove())
	}
	return names
}

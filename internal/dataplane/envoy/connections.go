package envoy

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/resource"
)

// Statistics of a cluster. A connection that fails is counted in both.
const (
	connectionsTried  = "upstream_cx_total"
	connectionsFailed = "upstream_cx_connect_fail"
)

// connectionsPath asks for the statistics of one cluster. Names of statistics have no colons.
func connectionsPath(backend resource.Key) string {
	name := regexp.QuoteMeta(strings.ReplaceAll(backend.Name, ":", "_"))
	return "/stats?filter=" + url.QueryEscape(`^cluster\.`+name+`\.(`+connectionsTried+`|`+connectionsFailed+`)$`)
}

// connections reads them. A counter that never counted is missing there.
func connections(statistics []byte) (c dataplane.Connections) {
	for line := range strings.Lines(string(statistics)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		value, err := strconv.Atoi(text)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "."+connectionsTried):
			c.Tried = value
		case strings.HasSuffix(name, "."+connectionsFailed):
			c.Failed = value
		}
	}
	return c
}

package xds

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// proxyVersion is what a proxy says of itself: "1.40.0", or "" if it does not say.
func proxyVersion(node *corev3.Node) string {
	v := node.GetUserAgentBuildVersion().GetVersion()
	if v == nil {
		return node.GetUserAgentVersion()
	}
	return fmt.Sprintf("%d.%d.%d", v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
}

// older compares versions by their numbers.
func older(a, b string) bool {
	var x, y [3]int
	fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

package backend

import (
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/core/model"
)

// TestExternalHostnames: in a cluster an XBackend can't name the proxy's own machine or what the cluster has; from a
// folder it can. Names are looked up there as they are, without search domains: with them, web.shop is a Service.
func TestExternalHostnames(t *testing.T) {
	for host, says := range map[string]string{
		"far.example":                     "",
		"svc.example":                     "",
		"cluster.local.example":           "",
		"mycluster.local":                 "",
		"web.shop":                        "", // looked up as it is, it is no Service
		"localhost":                       "own machine",
		"a.localhost":                     "own machine",
		"localhost.localdomain":           "own machine",
		"web":                             "one label",
		"kubernetes.default.svc":          "name of the cluster",
		"svc":                             "one label",
		"web.shop.svc.cluster.local":      "name of the cluster",
		"10-0-0-1.shop.pod.cluster.local": "name of the cluster",
		"cluster.local":                   "name of the cluster",
		"127.0.0.1":                       "EndpointSlice",
		"127.1":                           "EndpointSlice",
		"2130706433":                      "EndpointSlice",
	} {
		spec := &xgatewayv1alpha1.BackendSpec{
			Type: xgatewayv1alpha1.BackendTypeExternalHostname, Port: xgatewayv1alpha1.BackendPort{Number: 80},
			ExternalHostname: &xgatewayv1alpha1.ExternalHostnameBackend{Hostname: gatewayv1.PreciseHostname(host)},
		}
		x, problems := readDestination(model.Meta{}, spec, "cluster.local")
		switch {
		case says == "" && len(problems) > 0:
			t.Errorf("%s: %+v", host, problems)
		case says == "" && !x.Backend.WholeName:
			t.Errorf("%s is looked up with search domains", host)
		case says != "" && (len(problems) != 1 || problems[0].Field != "spec.externalHostname.hostname" ||
			problems[0].Condition != "Accepted" || !strings.Contains(problems[0].Message, says)):
			t.Errorf("%s: %+v, want %s", host, problems, says)
		}
		if x, problems := readDestination(model.Meta{}, spec, ""); x.Backend.WholeName || (len(problems) > 0) !=
			(says == "EndpointSlice") {
			t.Errorf("%s of a folder: %+v", host, problems)
		}
	}
}

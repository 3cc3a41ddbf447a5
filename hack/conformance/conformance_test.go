// Package conformance runs the Gateway API's own suite, unchanged, against a running Cardea. `make conformance`
// prepares the cluster.
package conformance

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

func TestConformance(t *testing.T) { conformance.RunConformance(t) }

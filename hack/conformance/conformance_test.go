// Package conformance runs the Gateway API's own suite, as it is, against a running Cardea. `make conformance` sets the
// scene.
package conformance

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

func TestConformance(t *testing.T) { conformance.RunConformance(t) }

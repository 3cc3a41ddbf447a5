package gateway

import (
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kinds"
)

func TestNewBuilds(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	New(g, kinds.NewSources(g), Options{})
}

package gateway

import (
	"testing"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/input"
)

func TestNewBuilds(t *testing.T) {
	g := flow.New(flow.Config{Name: "test", Check: true})
	New(g, input.New(g), Options{})
}

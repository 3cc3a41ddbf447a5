package gateway

import (
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

type broken = flow.Collection[model.ObjectRef, input.Broken]

// absent says why an object was not found (input.Absent).
func absent(c *flow.Ctx, all *broken, ref model.ObjectRef) string { return input.Absent(c, all, ref) }

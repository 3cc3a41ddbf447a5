package policy

import (
	"testing"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// TestLargeAtManyRules: what is large and stands in the routes of many rules is warned of.
func TestLargeAtManyRules(t *testing.T) {
	of := model.Ref(model.KindTrafficPolicy, "shop", "pages")
	piece := func(size int) Piece {
		return Piece{
			Effective: Effective{Feature: "errorResponses", Fields: []EffectiveField{{From: Source{Policy: of,
				Level: LevelRoute}}}},
			Rendered: plan.Rendered{Settings: []plan.Setting{{Config: plan.TypedConfig{Value: make([]byte, size)}}}},
		}
	}
	if _, is := largeOf(piece(4 << 10)); is {
		t.Error("4 KiB are said to be large")
	}
	l, is := largeOf(piece(5000))
	if !is || l.Policy != of {
		t.Fatalf("5000 bytes: %+v, %t", l, is)
	}
	if list := warnRepeated(of, map[largePiece]int{l: 15}); len(list) > 0 {
		t.Errorf("at 15 rules: %v", list)
	}
	if list := warnRepeated(of, map[largePiece]int{l: 16}); len(list) != 1 || list[0].Field != "spec.errorResponses" {
		t.Errorf("at 16 rules: %v", list)
	}
}

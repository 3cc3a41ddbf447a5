package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"cardea.dev/cardea/internal/core/model"
)

// If a rule states a feature, each of its routes has a copy of the settings. If a Gateway or a listener states it, they
// stand once in a table. The bounds say what is worth a warning.
const (
	largeBytes = 4 << 10
	manyRules  = 16
)

// largePiece is what a feature is rendered to at a rule, if that is large.
type largePiece struct {
	Policy  model.ObjectRef // that states it
	Feature string
	Bytes   int
	Hash    uint64
}

// largeOf tells whether a piece is large.
func largeOf(p Piece) (l largePiece, is bool) {
	l = largePiece{Policy: p.attributedPolicy(), Feature: p.Feature}
	h := xxhash.New()
	for _, s := range p.Rendered.Settings {
		l.Bytes += len(s.Config.Value)
		_, _ = h.Write(s.Config.Value)
	}
	l.Hash = h.Sum64()
	return l, l.Bytes > largeBytes
}

// warnRepeated warns of what is large and the same at many rules.
func warnRepeated(of model.ObjectRef, rules map[largePiece]int) (list []model.Finding) {
	inOrder := func(a, b largePiece) int { return strings.Compare(a.Feature, b.Feature) }
	for _, l := range slices.SortedFunc(maps.Keys(rules), inOrder) {
		if n := rules[l]; n >= manyRules && l.Policy == of {
			list = append(list, model.Finding{
				Object: of, Severity: model.Warning, Field: fieldOf(l.Feature, ""), Message: fmt.Sprintf(
					"its %d bytes are repeated in the routes of each of %d rules in every proxy; state it once for their listener "+
						"or Gateway", l.Bytes, n),
			})
		}
	}
	return list
}

// Package table prints what hack/bench measures: rows of Markdown, and the figures in them.
//
// It owns the columns and the units that all parts share. It must never know what is measured. Start reading at Table.
package table

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// Full is the number of routes for which there are targets.
const Full = 10_000

// Sizes are the numbers of routes for which there are rows.
var Sizes = []int{1_000, Full}

// Begin prints the head of the table.
func Begin(w io.Writer) {
	fmt.Fprintln(w, "| what | cost | more | target |\n|---|---|---|---|")
}

// Table is the rows of one number of routes, or of something else.
type Table struct {
	W  io.Writer
	N  int
	Of string // "": routes
}

// Row prints what was measured. The target is the value to reach; "" if there is none.
func (t Table) Row(what, cost, more, target string) {
	line := fmt.Sprintf("| %d %s: %s ", t.N, cmp.Or(t.Of, "routes"), what)
	for _, cell := range []string{cost, more, target} {
		line += strings.TrimRight("| "+cell, " ") + " "
	}
	fmt.Fprintln(t.W, line+"|")
}

// AtFull is a target that applies to the full number of routes only.
func (t Table) AtFull(target string) string {
	if t.N != Full {
		return ""
	}
	return target
}

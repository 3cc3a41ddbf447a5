package main

import (
	"fmt"
	"io"
	"strings"
)

// full is the number of routes that targets are stated for.
const full = 10_000

// table is the rows of one number of routes.
type table struct {
	w io.Writer
	n int
}

// row prints what was measured. The target is what we aim at; "" if no figure is stated.
func (t table) row(what, cost, more, target string) {
	line := fmt.Sprintf("| %d routes: %s ", t.n, what)
	for _, cell := range []string{cost, more, target} {
		line += strings.TrimRight("| "+cell, " ") + " "
	}
	fmt.Fprintln(t.w, line+"|")
}

// atFull is a target that is stated for the full number of routes only.
func (t table) atFull(target string) string {
	if t.n != full {
		return ""
	}
	return target
}

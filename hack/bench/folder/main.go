// Command folder prints what `cardea standalone` costs, as a table of counts, CPU times and ratios. It asserts nothing:
// on a shared machine, wall time alone is misleading.
//
// It owns the figures of the pure part, and those of a folder that a real cardea and a real Envoy serve. `make bench
// PART=folder` runs it.
package main

import (
	"flag"
	"fmt"
	"os"

	"cardea.dev/cardea/hack/bench/table"
)

func main() {
	beCardea()
	sizes := table.SizesFlag()
	flag.Parse()
	table.Begin(os.Stdout)
	for _, n := range *sizes {
		t := table.Table{W: os.Stdout, N: n}
		translation(t)
		rotation(t)
		flatten(t)
		if err := liveEdit(t); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		for _, bad := range []int{1, 3} {
			if err := refusals(t, bad); err != nil {
				fmt.Fprintln(os.Stderr, "bench: refusals:", err)
				os.Exit(1)
			}
		}
	}
}

// Command bench prints what Cardea costs, as a table of counts, CPU times and ratios. It asserts nothing: wall time alone lies
// on a shared machine.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	beCardea()
	flag.Parse()
	w := os.Stdout
	fmt.Fprintln(w, "| what | cost | more |\n|---|---|---|")
	for _, n := range []int{1_000, 10_000} {
		translation(w, n)
		flatten(w, n)
		if err := liveEdit(w, n); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
}

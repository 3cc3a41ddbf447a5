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
	fmt.Println("| what | cost | more | target |\n|---|---|---|---|")
	for _, n := range []int{1_000, full} {
		t := table{os.Stdout, n}
		translation(t)
		rotation(t)
		flatten(t)
		if err := liveEdit(t); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
}

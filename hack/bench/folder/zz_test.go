package main
import ("testing";"os";"cardea.dev/cardea/hack/bench/table")
func TestZZ(t *testing.T) {
	for _, n := range []int{1000, 10000} { tb := table.Table{W: os.Stdout, N: n}; translation(tb); rotation(tb) }
}

package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"

	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/internal/epp/prefix"
)

const (
	million = 1_000_000
	prompt  = 250 // blocks of a prompt; they divide what each server keeps
)

// memory measures what the picker keeps of prompts: a million blocks, over several numbers of servers.
func (b *bench) memory() error {
	for _, n := range []int{8, 32, 64} {
		before := scene.Heap()
		x := prefix.NewIndex(million / n)
		fill(x, n)
		heap, known := scene.Heap()-before, x.Len()
		row(fmt.Sprintf("%d blocks over %d servers", known, n), fmt.Sprintf("heap %.1f MB", float64(heap)/1e6),
			fmt.Sprintf("%.1f B a block", float64(heap)/float64(known)), "")
		runtime.KeepAlive(x)
	}
	return nil
}

// fill sends each of n servers twice as many blocks as it keeps: the older half leaves.
func fill(x *prefix.Index, n int) {
	r := rand.New(rand.NewPCG(1, 2))
	blocks := make([]uint64, prompt)
	for server := range n {
		for range 2 * million / n / prompt {
			for i := range blocks {
				blocks[i] = r.Uint64()
			}
			x.AddPrompt(fmt.Sprintf("10.0.0.%d:8000", server+1), blocks)
		}
	}
}

package epp

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkPick decides for chats of 1 kB, 16 kB and 200 kB among 8 and 64 servers, and counts them.
func BenchmarkPick(b *testing.B) {
	for _, n := range []int{8, 64} {
		for _, size := range []int{1 << 10, 16 << 10, 200_000} {
			b.Run(fmt.Sprintf("servers=%d/bytes=%d", n, size), func(b *testing.B) {
				load := &loads{}
				var endpoints []string
				for i := range n {
					endpoints = append(endpoints, fmt.Sprintf("10.0.0.%d:8000", i))
					load.set(endpoints[i], idle())
				}
				p := newPicker(b, load, endpoints...)
				c := request("a", size)
				b.ReportAllocs()
				for b.Loop() {
					began := time.Now()
					d := p.decideCall(c)
					p.metrics.countDecision(d, began)
					p.trackRequest(d).end()
				}
			})
		}
	}
}

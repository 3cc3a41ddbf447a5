package prefix_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/epp/prefix"
)

var hasher = prefix.Hasher{Seed: 1, BlockSize: 4, BlocksPerSize: 8}

func TestBlocks(t *testing.T) {
	blocks := func(model, text string) []uint64 { return hasher.HashBlocks(model, []byte(text)) }
	common := func(a, b []uint64) (n int) {
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		return n
	}
	another := prefix.Hasher{Seed: 2, BlockSize: 4, BlocksPerSize: 8}
	whole := blocks("m", "aaaabbbbccccdd")
	for name, c := range map[string]struct {
		other        []uint64
		length, same int
	}{
		"the rest does not count":     {blocks("m", "aaaabbbbcccc"), 3, 3},
		"the same beginning":          {blocks("m", "aaaabbbbxxxx"), 3, 2},
		"another beginning":           {blocks("m", "xaaabbbbcccc"), 3, 0},
		"the same blocks, elsewhere":  {blocks("m", "bbbbaaaacccc"), 3, 0},
		"another model":               {blocks("n", "aaaabbbbcccc"), 3, 0},
		"the model is not the prompt": {blocks("maaaa", "bbbbcccc"), 2, 0},
		"no whole block":              {blocks("m", "aaa"), 0, 0},
		"a long one":                  {blocks("m", "aaaa"+strings.Repeat("b", 1000)), 40, 2},
		"another process":             {another.HashBlocks("m", []byte("aaaabbbb")), 2, 0},
	} {
		if len(c.other) != c.length || common(whole, c.other) != c.same {
			t.Errorf("%s: %d blocks, %d in common, want %d and %d", name, len(c.other), common(whole, c.other), c.length,
				c.same)
		}
	}
}

// TestLongBlocks: further in, blocks are longer. What two prompts have in common is found to a part in Even, and as
// many bytes as blocks have are those that Bytes tells.
func TestLongBlocks(t *testing.T) {
	text := []byte(strings.Repeat("0123456789", 300_000))
	for _, h := range []prefix.Hasher{
		{Seed: 1, BlockSize: 64, BlocksPerSize: 256}, {Seed: 1, BlockSize: 64}, {Seed: 1, BlockSize: 5, BlocksPerSize: 1},
		hasher,
	} {
		whole := h.HashBlocks("m", text)
		for _, at := range []int{0, 1, 63, 64, 16_383, 16_384, 16_511, 16_512, 200_000, 1 << 20, len(text) - 1} {
			other := slices.Concat(text[:at], []byte("x"), text[at+1:])
			same := 0
			for blocks := h.HashBlocks("m", other); same < len(blocks) && blocks[same] == whole[same]; same++ {
			}
			found := h.PrefixBytes(same)
			most := h.BlockSize
			if h.BlocksPerSize > 0 {
				most += at / h.BlocksPerSize
			}
			if found > at || at-found > most {
				t.Errorf("%+v: another byte at %d: %d bytes in common", h, at, found)
			}
			if n := len(h.HashBlocks("m", text[:at])); h.PrefixBytes(n) > at || h.PrefixBytes(n+1) <= at {
				t.Errorf("%+v: %d bytes have %d blocks of %d bytes", h, at, n, h.PrefixBytes(n))
			}
		}
	}
	if n := len(prefix.Hasher{BlockSize: 64, BlocksPerSize: 256}.HashBlocks("m", text[:1<<20])); n != 1540 {
		t.Errorf("1 MiB has %d blocks", n)
	}
}

func TestIndex(t *testing.T) {
	x := prefix.NewIndex(4)
	servers := []string{"a", "b", "c"}
	want := func(what string, blocks []uint64, want ...int) {
		t.Helper()
		if got := x.MatchServers(blocks, servers); !slices.Equal(got, want) {
			t.Errorf("%s: matched %v, want %v", what, got, want)
		}
	}
	long := []uint64{1, 2, 3, 4, 5, 6}
	want("nothing known", long, 0, 0, 0)
	if known := x.AddPrompt("a", long[:3]); known != 0 {
		t.Errorf("known before: %d", known)
	}
	x.AddPrompt("b", []uint64{1, 2, 9})
	want("two beginnings", long, 3, 2, 0)
	want("no blocks", nil, 0, 0, 0)
	if known := x.AddPrompt("a", []uint64{1, 2, 7}); known != 2 {
		t.Errorf("known before: %d, want 2", known)
	}
	want("both ends are there", long, 3, 2, 0)
	x.AddPrompt("a", []uint64{8})
	want("the oldest end leaves first", long, 2, 2, 0)
	x.AddPrompt("b", long)
	want("of a long prompt, the beginning is kept", long, 2, 4, 0)
	x.KeepServers(func(s string) bool { return s == "a" })
	want("a server that went", long, 2, 0, 0)
	if n := x.Len(); n != 4 {
		t.Errorf("%d blocks, want 4", n)
	}
}

func TestRetract(t *testing.T) {
	x := prefix.NewIndex(10)
	x.AddPrompt("a", []uint64{1, 2})
	known := x.AddPrompt("a", []uint64{1, 2, 3, 4})
	x.RetractPrompt("a", []uint64{1, 2, 3, 4}, known)
	x.RetractPrompt("nobody", []uint64{1}, 0)
	if got := x.MatchServers([]uint64{1, 2, 3, 4}, []string{"a"}); got[0] != 2 {
		t.Errorf("matched %d, want 2", got[0])
	}
	x.AddPrompt("a", []uint64{5, 6}) // takes what became free
	if n := x.Len(); n != 4 {
		t.Errorf("%d blocks, want 4", n)
	}
}

// TestIndexAgainstModel: over random prompts of few words, each server knows exactly what a list of the blocks that it
// used last says, and never a block without those before it.
func TestIndexAgainstModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const capacity = 12
	x := prefix.NewIndex(capacity)
	model := map[string][]uint64{} // newest first
	servers := []string{"a", "b"}
	words := []string{"aaaa", "bbbb", "cccc"}
	for range 20_000 {
		text := ""
		for range rnd.IntN(7) {
			text += words[rnd.IntN(len(words))]
		}
		blocks := hasher.HashBlocks("m", []byte(text))
		server := servers[rnd.IntN(len(servers))]
		for i, got := range x.MatchServers(blocks, servers) {
			want := 0
			for want < len(blocks) && slices.Contains(model[servers[i]], blocks[want]) {
				want++
			}
			if got != want {
				t.Fatalf("%s knows %d blocks of %q, want %d", servers[i], got, text, want)
			}
		}
		x.AddPrompt(server, blocks)
		list := slices.DeleteFunc(model[server], func(b uint64) bool { return slices.Contains(blocks, b) })
		list = slices.Insert(list, 0, blocks...)
		model[server] = list[:min(len(list), capacity)]
	}
}

// BenchmarkMemory reports what a million blocks take: 32 servers that are full.
func BenchmarkMemory(b *testing.B) {
	const servers = 32
	for b.Loop() {
		before := heap()
		x := prefix.NewIndex(prefix.DefaultCapacity)
		next := uint64(0)
		for s := range servers {
			name := string(rune('a' + s))
			for range prefix.DefaultCapacity / 250 * 2 { // twice as many as it keeps
				blocks := make([]uint64, 250)
				for i := range blocks {
					next += 0x9e3779b97f4a7c15
					blocks[i] = next
				}
				x.AddPrompt(name, blocks)
			}
		}
		after := heap()
		b.ReportMetric(float64(after-before)/float64(x.Len()), "B/block")
		b.ReportMetric(float64(after-before)/float64(x.Len())*1e6/(1<<20), "MiB/1M-blocks")
		b.ReportMetric(float64(x.Len()), "blocks")
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMatch asks 8 and 1,000 servers that all know 256 blocks.
func BenchmarkMatch(b *testing.B) {
	blocks := prefix.Hasher{Seed: 1, BlockSize: 64, BlocksPerSize: 256}.HashBlocks("m", []byte(strings.Repeat("0123456789",
		2000)))
	for _, n := range []int{8, 1000} {
		x := prefix.NewIndex(prefix.DefaultCapacity)
		var servers []string
		for i := range n {
			servers = append(servers, strings.Repeat("x", 10)+string(rune(i)))
			x.AddPrompt(servers[i], blocks)
		}
		b.Run(map[int]string{8: "servers=8", 1000: "servers=1000"}[n], func(b *testing.B) {
			for b.Loop() {
				x.MatchServers(blocks, servers)
			}
		})
	}
}

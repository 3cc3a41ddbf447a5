package prefix

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// The published defaults.
const (
	DefaultBlockSize = 64    // bytes
	DefaultEven      = 256   // blocks
	DefaultCapacity  = 31250 // blocks of a server
)

// Hasher cuts prompts into blocks.
type Hasher struct {
	// Seed is a random number of this process. Without it, a client could make prompts with the block hashes of others'
	// prompts.
	Seed      uint64
	BlockSize int // bytes
	// Even is after how many blocks they are twice as long, and after as many again, four times; 0: all are equal. So a
	// prompt of n bytes has about Even * log2(n / (Even*BlockSize)) blocks, and the end that is in no whole block is never
	// more than a part in Even of what is before it.
	Even int
}

// Blocks hashes the whole blocks of a prompt. A model can't use the cache of another model, so the model counts, too.
func (h Hasher) Blocks(model string, text []byte) []uint64 {
	n := h.count(len(text))
	if n == 0 {
		return nil
	}
	blocks := make([]uint64, n)
	d := xxhash.NewWithSeed(h.Seed)
	d.WriteString(model) // never fails
	last := d.Sum64()
	var before [8]byte
	for i := range blocks {
		binary.LittleEndian.PutUint64(before[:], last)
		d.ResetWithSeed(h.Seed)
		d.Write(before[:])
		size := h.size(i)
		d.Write(text[:size])
		text = text[size:]
		last = d.Sum64()
		blocks[i] = last
	}
	return blocks
}

// Bytes is how much of a prompt its first n blocks are.
func (h Hasher) Bytes(n int) (bytes int) {
	for i := 0; n > 0; i += h.Even {
		alike := n
		if h.Even > 0 {
			alike = min(n, h.Even)
		}
		bytes += alike * h.size(i)
		n -= alike
	}
	return bytes
}

// count is how many whole blocks a prompt of that many bytes has.
func (h Hasher) count(bytes int) (n int) {
	for ; ; n += h.Even {
		whole := bytes / h.size(n)
		if h.Even == 0 || whole < h.Even {
			return n + whole
		}
		bytes -= h.Even * h.size(n)
	}
}

// size is how many bytes a block has.
func (h Hasher) size(block int) int {
	if h.Even == 0 {
		return h.BlockSize
	}
	return h.BlockSize << (block / h.Even)
}

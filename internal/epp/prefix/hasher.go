package prefix

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// The published defaults.
const (
	DefaultBlockSize     = 64    // bytes
	DefaultBlocksPerSize = 256   // blocks
	DefaultCapacity      = 31250 // blocks of a server
)

// Hasher cuts prompts into blocks.
type Hasher struct {
	// Seed is a random number of this process. Without it, a client could make prompts with the block hashes of others'
	// prompts.
	Seed      uint64
	BlockSize int // bytes
	// BlocksPerSize is after how many blocks they are twice as long, and after as many again, four times; 0: all are
	// equal. So a prompt of n bytes has about Even * log2(n / (Even*BlockSize)) blocks, and the end that is in no whole
	// block is never more than a part in Even of what is before it.
	BlocksPerSize int
}

// HashBlocks hashes the whole blocks of a prompt. A model can't use the cache of another model, so the model counts,
// too.
func (h Hasher) HashBlocks(model string, text []byte) []uint64 {
	n := h.countBlocks(len(text))
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
		size := h.bytesOfBlock(i)
		d.Write(text[:size])
		text = text[size:]
		last = d.Sum64()
		blocks[i] = last
	}
	return blocks
}

// PrefixBytes is how much of a prompt its first n blocks are.
func (h Hasher) PrefixBytes(n int) (bytes int) {
	for i := 0; n > 0; i += h.BlocksPerSize {
		alike := n
		if h.BlocksPerSize > 0 {
			alike = min(n, h.BlocksPerSize)
		}
		bytes += alike * h.bytesOfBlock(i)
		n -= alike
	}
	return bytes
}

// countBlocks is how many whole blocks a prompt of that many bytes has.
func (h Hasher) countBlocks(bytes int) (n int) {
	for ; ; n += h.BlocksPerSize {
		whole := bytes / h.bytesOfBlock(n)
		if h.BlocksPerSize == 0 || whole < h.BlocksPerSize {
			return n + whole
		}
		bytes -= h.BlocksPerSize * h.bytesOfBlock(n)
	}
}

// bytesOfBlock is how many bytes a block has.
func (h Hasher) bytesOfBlock(block int) int {
	if h.BlocksPerSize == 0 {
		return h.BlockSize
	}
	return h.BlockSize << (block / h.BlocksPerSize)
}

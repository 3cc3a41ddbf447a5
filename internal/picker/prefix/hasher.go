package prefix

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// The published defaults.
const (
	DefaultBlockSize = 64    // bytes
	DefaultMaxBlocks = 256   // of a prompt
	DefaultCapacity  = 31250 // blocks of a server
)

// Hasher cuts prompts into blocks.
type Hasher struct {
	// Seed is a random number of this process. Without it, a client could make prompts whose blocks have the hashes of
	// others' prompts.
	Seed      uint64
	BlockSize int // bytes
	MaxBlocks int // of a prompt; what follows does not count
}

// MaxBytes is how much of a prompt counts.
func (h Hasher) MaxBytes() int { return h.BlockSize * h.MaxBlocks }

// Blocks hashes the whole blocks of a prompt. What a model has in its cache is of no use to another, so the model
// counts, too.
func (h Hasher) Blocks(model string, text []byte) []uint64 {
	n := min(len(text)/h.BlockSize, h.MaxBlocks)
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
		d.Write(text[i*h.BlockSize : (i+1)*h.BlockSize])
		last = d.Sum64()
		blocks[i] = last
	}
	return blocks
}

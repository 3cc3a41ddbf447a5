package flow

import (
	"math"
	"math/bits"
	"unsafe"
)

// Hashes are only for check mode in this process: they detect a change, and identify nothing.

func mix(h, x uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9e3779b97f4a7c15, x^0xd6e8feb86659fd93)
	return bits.RotateLeft64(h, 23) ^ hi ^ lo
}

func hashString(h uint64, s string) uint64 {
	h = mix(h, uint64(len(s)))
	for len(s) >= 8 {
		h = mix(h, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
		s = s[8:]
	}
	var tail uint64
	for i := range len(s) {
		tail |= uint64(s[i]) << (8 * i)
	}
	return mix(h, tail)
}

func hashRun(elem shape, size uintptr, n int, h uint64, p unsafe.Pointer) uint64 {
	for i := range uintptr(n) {
		h = elem.hash(h, unsafe.Add(p, i*size))
	}
	return h
}

func floatBits(f float64) uint64 {
	switch {
	case f == 0: // both zeros
		return 0
	case f != f:
		return 1
	}
	return math.Float64bits(f)
}

package xds

import mathbits "math/bits"

// slotSet is a set of slots: what a stream knows of 10,000 names fits in 1.25 kB.
type slotSet []uint64

func (b slotSet) contains(i int) bool { return i>>6 < len(b) && b[i>>6]&(1<<(i&63)) != 0 }

func (b *slotSet) add(i int) {
	for i>>6 >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[i>>6] |= 1 << (i & 63)
}

func (b slotSet) remove(i int) {
	if i>>6 < len(b) {
		b[i>>6] &^= 1 << (i & 63)
	}
}

// count is how many slots are in the set.
func (b slotSet) count() (n int) {
	for _, word := range b {
		n += mathbits.OnesCount64(word)
	}
	return n
}

// slots hands out small numbers and takes them back.
type slots struct {
	next int
	free []int
}

func (s *slots) takeSlot() int {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		return i
	}
	s.next++
	return s.next - 1
}

func (s *slots) freeSlot(i int) { s.free = append(s.free, i) }

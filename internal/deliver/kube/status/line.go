package status

import "container/heap"

// stateHeap is files in an order.
type stateHeap struct {
	states []*objectState
	before func(a, b *objectState) bool
}

func (l *stateHeap) addState(f *objectState) {
	f.inHeap = l
	heap.Push(l, f)
}

// leaveHeap takes a file out of the line that it is in.
func (f *objectState) leaveHeap() {
	if f.inHeap != nil {
		heap.Remove(f.inHeap, f.index)
		f.inHeap = nil
	}
}

func (l *stateHeap) Len() int           { return len(l.states) }
func (l *stateHeap) Less(i, j int) bool { return l.before(l.states[i], l.states[j]) }

func (l *stateHeap) Swap(i, j int) {
	l.states[i], l.states[j] = l.states[j], l.states[i]
	l.states[i].index, l.states[j].index = i, j
}

// Push is for package heap.
func (l *stateHeap) Push(f any) {
	f.(*objectState).index = len(l.states)
	l.states = append(l.states, f.(*objectState))
}

// Pop is for package heap.
func (l *stateHeap) Pop() any {
	last := len(l.states) - 1
	f := l.states[last]
	l.states[last] = nil
	l.states = l.states[:last]
	return f
}

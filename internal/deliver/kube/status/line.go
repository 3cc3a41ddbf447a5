package status

import "container/heap"

// line is files in an order.
type line struct {
	files  []*file
	before func(a, b *file) bool
}

func (l *line) add(f *file) {
	f.line = l
	heap.Push(l, f)
}

// leave takes a file out of the line that it is in.
func (f *file) leave() {
	if f.line != nil {
		heap.Remove(f.line, f.index)
		f.line = nil
	}
}

func (l *line) Len() int           { return len(l.files) }
func (l *line) Less(i, j int) bool { return l.before(l.files[i], l.files[j]) }

func (l *line) Swap(i, j int) {
	l.files[i], l.files[j] = l.files[j], l.files[i]
	l.files[i].index, l.files[j].index = i, j
}

// Push is for package heap.
func (l *line) Push(f any) {
	f.(*file).index = len(l.files)
	l.files = append(l.files, f.(*file))
}

// Pop is for package heap.
func (l *line) Pop() any {
	last := len(l.files) - 1
	f := l.files[last]
	l.files[last] = nil
	l.files = l.files[:last]
	return f
}

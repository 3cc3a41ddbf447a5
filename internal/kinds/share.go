package kinds

import "unique"

// What objects of a cluster have in common is kept once: there are tens of thousands of them.

// shared is a text that all objects share.
func shared(s string) string { return unique.Make(s).Value() }

func sharedKeys(labels map[string]string) map[string]string {
	if labels == nil {
		return nil
	}
	m := make(map[string]string, len(labels))
	for k, v := range labels {
		m[shared(k)] = v
	}
	return m
}

// exact is a slice without room for more.
func exact[T any](s []T) []T {
	if s == nil || cap(s) == len(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

var yes, no = true, false

// pooled is a bool that all objects share.
func pooled(b *bool) *bool {
	switch {
	case b == nil:
		return nil
	case *b:
		return &yes
	}
	return &no
}

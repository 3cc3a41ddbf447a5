package kinds

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kind"
)

// Values that many objects of a cluster have are kept once: there are tens of thousands of them.

// internText returns the copy of a text that all objects share.
func internText(s string) string { return unique.Make(s).Value() }

func internKeys(labels map[string]string) map[string]string {
	if labels == nil {
		return nil
	}
	m := make(map[string]string, len(labels))
	for k, v := range labels {
		m[internText(k)] = v
	}
	return m
}

// keepLabels makes content keep its labels, since policies select objects by them.
func keepLabels(c kind.Content) kind.Content {
	read, trim := c.Read, c.Trim
	c.Read = func(object metav1.Object) (kind.KeptObject, error) {
		kept, err := read(object)
		kept.Labels = internLabels(object.GetLabels())
		return kept, err
	}
	c.Trim = func(labels map[string]string, spec any) (map[string]string, any) {
		_, spec = trim(labels, spec)
		return internLabels(labels), spec
	}
	return c
}

func internLabels(labels map[string]string) map[string]string {
	labels = internKeys(labels)
	for k, v := range labels {
		labels[k] = internText(v)
	}
	return labels
}

// clipSlice returns a slice without room for more.
func clipSlice[T any](s []T) []T {
	if s == nil || cap(s) == len(s) {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}

var yes, no = true, false

// internBool returns the copy of a bool that all objects share.
func internBool(b *bool) *bool {
	switch {
	case b == nil:
		return nil
	case *b:
		return &yes
	}
	return &no
}

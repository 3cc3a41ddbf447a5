package kind

import (
	"maps"
	"testing"
)

// TestNoted: annotations that count are kept beside labels and told apart from them again. A label by the name of one
// is none, and others' maps are left as they are.
func TestNoted(t *testing.T) {
	k := &Kind{Annotations: []string{"a/b"}}
	type of = map[string]string
	for name, c := range map[string]struct{ labels, annotations, noted, apart, stated of }{
		"nothing":      {nil, of{"x": "y"}, nil, nil, nil},
		"a label":      {of{"app": "web"}, nil, of{"app": "web"}, of{"app": "web"}, nil},
		"alone":        {nil, of{"a/b": "v"}, of{"a/b": "v"}, of{}, of{"a/b": "v"}},
		"both":         {of{"app": "web"}, of{"a/b": "v"}, of{"app": "web", "a/b": "v"}, of{"app": "web"}, of{"a/b": "v"}},
		"a label only": {of{"a/b": "no"}, nil, of{}, of{}, nil},
		"a label, too": {of{"a/b": "no"}, of{"a/b": "v"}, of{"a/b": "v"}, of{}, of{"a/b": "v"}},
	} {
		before := maps.Clone(c.labels)
		noted := k.MergeAnnotations(c.labels, c.annotations)
		labels, annotations := k.SplitAnnotations(noted)
		if !maps.Equal(noted, c.noted) || !maps.Equal(labels, c.apart) || !maps.Equal(annotations, c.stated) {
			t.Errorf("%s: %v, apart %v and %v", name, noted, labels, annotations)
		}
		if !maps.Equal(c.labels, before) {
			t.Errorf("%s: the labels were changed: %v", name, c.labels)
		}
	}
}

package kube

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// answering is a reader that answers with an error, nil: it is served.
type answering struct{ err error }

func (a answering) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return &metav1.List{}, a.err
}

func (a answering) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), a.err
}

// TestFirstServed: the first version counts that the API server has. Any other error is not the next version's.
func TestFirstServed(t *testing.T) {
	absent := answering{apierrors.NewNotFound(schema.GroupResource{Resource: "bundles"}, "")}
	broken, served := answering{errors.New("away")}, answering{}
	for _, c := range []struct {
		about   string
		readers firstServed
		want    error
	}{
		{"the first", firstServed{served, broken}, nil}, {"the second", firstServed{absent, served}, nil},
		{"none", firstServed{absent, absent}, absent.err}, {"no answer", firstServed{broken, served}, broken.err},
	} {
		_, listed := c.readers.List(t.Context(), metav1.ListOptions{})
		_, watched := c.readers.Watch(t.Context(), metav1.ListOptions{})
		if listed != c.want || watched != c.want {
			t.Errorf("%s: %v, %v, want %v", c.about, listed, watched, c.want)
		}
	}
}

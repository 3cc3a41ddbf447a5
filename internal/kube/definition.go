package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// What the CustomResourceDefinitions of the Gateway API say of their release (GEP-922).
const (
	bundleAnnotation  = "gateway.networking.k8s.io/bundle-version"
	channelAnnotation = "gateway.networking.k8s.io/channel"
)

// install says how the Gateway API comes into a cluster.
const install = "https://gateway-api.sigs.k8s.io/guides/getting-started/#installing-gateway-api"

// definition is what is known of a CustomResourceDefinition.
type definition struct {
	known   bool // an answer came
	present bool // or nobody may look, and the kind itself tells
	// generation grows with each change of the schema: then the API server keeps other fields of objects.
	generation int64
}

// followDefinition follows the kind's CustomResourceDefinition until ctx ends.
func (f *feed) followDefinition(ctx context.Context) {
	note := func(m *metav1.PartialObjectMetadata) {
		d := definition{known: true}
		var bundle, channel string
		if m != nil {
			d.present, d.generation = true, m.Generation
			bundle, channel = m.Annotations[bundleAnnotation], m.Annotations[channelAnnotation]
		}
		f.board.set(f.kind.Kind, func(k *KindState) { k.Bundle, k.Channel = bundle, channel })
		f.define(d)
	}
	follow(ctx, f.clients.definition(f.kind.Resource()), sink[*metav1.PartialObjectMetadata]{
		trim: trimDefinition,
		replace: func(list []*metav1.PartialObjectMetadata) {
			if len(list) == 0 {
				note(nil)
			} else {
				note(list[0])
			}
		},
		set:    note,
		remove: func(metav1.Object) { note(nil) },
		failed: func(err error) {
			switch {
			case f.defined().known:
			case apierrors.IsForbidden(err):
				f.define(definition{known: true, present: true})
			default:
				f.failed(err)
			}
		},
		works: func() {},
	}, feedPace)
}

func (f *feed) define(d definition) {
	f.mu.Lock()
	f.definition = d
	f.mu.Unlock()
	knock(f.changed) // also if it is the same one: it may be served only now
}

func (f *feed) defined() definition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.definition
}

func trimDefinition(from any) (*metav1.PartialObjectMetadata, error) {
	m, ok := from.(*metav1.PartialObjectMetadata)
	if !ok {
		return nil, fmt.Errorf("%T is no metadata", from)
	}
	m.ManagedFields = nil
	return m, nil
}

// versioned reads a kind in the version that is served, as far as is known.
type versioned struct{ *feed }

func (v versioned) reader() reader {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.clients.all(v.kind, v.kind.GroupVersion(v.version))
}

func (v versioned) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return v.reader().List(ctx, options)
}

func (v versioned) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return v.reader().Watch(ctx, options)
}

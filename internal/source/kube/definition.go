package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"cardea.dev/cardea/internal/core/model"
)

// The annotations of the Gateway API's CustomResourceDefinitions about their release (GEP-922).
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
	// version is another one after each change of the schema: then the API server keeps other fields of objects.
	version string
}

// installed is what is kept of a CustomResourceDefinition.
type installed struct {
	metav1.ObjectMeta
	differs model.Definition // what Compare says; nothing for a kind of the Gateway API
}

// followDefinition follows the kind's CustomResourceDefinition until ctx ends.
func (f *feed) followDefinition(ctx context.Context) {
	follow(ctx, f.clients.definition(f.kind), sink[*installed]{
		trim: f.trimDefinition,
		replace: func(list []*installed) {
			if len(list) == 0 {
				f.note(nil)
			} else {
				f.note(list[0])
			}
		},
		set:    f.note,
		remove: func(metav1.Object) { f.note(nil) },
		failed: func(err error) {
			switch {
			case f.defined().known:
			case apierrors.IsForbidden(err):
				f.define(definition{known: true, present: true})
				knock(f.changed)
			default:
				f.failed(err)
			}
		},
		works: func() {},
	}, feedPace)
}

// note takes what the kind's CustomResourceDefinition is by now; nil: there is none.
func (f *feed) note(is *installed) {
	d := definition{known: true}
	if is != nil {
		d.present, d.version = true, fmt.Sprint(is.UID, " ", is.Generation)
	}
	f.define(d)
	f.board.set(f.kind.Kind, func(k *KindState) {
		k.Bundle, k.Channel = "", ""
		k.Definition.Absent, k.Definition.Serves, k.Definition.NotServed, k.Definition.Lacks = is == nil, "", false, ""
		if is != nil {
			k.Bundle, k.Channel = is.Annotations[bundleAnnotation], is.Annotations[channelAnnotation]
			k.Definition.Serves, k.Definition.NotServed = is.differs.Serves, is.differs.NotServed
			k.Definition.Lacks = is.differs.Lacks
		}
	})
	knock(f.changed) // also if it is the same one: it may be served only now
}

// define notes a definition, and when to list the kind again if it is another one than before.
func (f *feed) define(d definition) {
	f.mu.Lock()
	if f.definition.version != "" && d.version != "" && d.version != f.definition.version {
		f.reread = nil
		for _, after := range rereads {
			f.reread = append(f.reread, f.now().Add(after))
		}
	}
	f.definition = d
	f.mu.Unlock()
}

func (f *feed) defined() definition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.definition
}

// trimDefinition keeps what counts of a CustomResourceDefinition, whether the whole or the metadata was sent.
func (f *feed) trimDefinition(from any) (*installed, error) {
	if is, done := from.(*installed); done {
		return is, nil
	}
	m, ok := from.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", from)
	}
	is := &installed{ObjectMeta: metav1.ObjectMeta{
		Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(), Generation: m.GetGeneration(),
		Annotations: m.GetAnnotations(),
	}}
	whole, ok := from.(*unstructured.Unstructured)
	if !ok {
		return is, nil
	}
	serves, lacks, err := f.kind.Definition.Compare(whole.Object)
	is.differs = model.Definition{
		Serves: strings.Join(serves, ", "), Lacks: strings.Join(lacks, ", "),
		NotServed: !slices.ContainsFunc(f.kind.Versions, func(v string) bool { return slices.Contains(serves, v) }),
	}
	return is, err
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

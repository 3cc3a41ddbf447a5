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

// installURL says how the Gateway API comes into a cluster.
const installURL = "https://gateway-api.sigs.k8s.io/guides/getting-started/#installing-gateway-api"

// definition is what is known of a CustomResourceDefinition.
type definition struct {
	known   bool // an answer came
	present bool // or nobody may look, and the kind itself tells
	// version is another one after each change of the schema: then the API server keeps other fields of objects.
	version string
}

// installedDefinition is what is kept of a CustomResourceDefinition.
type installedDefinition struct {
	metav1.ObjectMeta
	differs model.Definition // what Compare says; nothing for a kind of the Gateway API
}

// followDefinition follows the kind's CustomResourceDefinition until ctx ends.
func (f *feed) followDefinition(ctx context.Context) {
	followObjects(ctx, f.clients.definitionReader(f.decl), sink[*installedDefinition]{
		trim: f.trimDefinition,
		replace: func(list []*installedDefinition) {
			if len(list) == 0 {
				f.noteDefinition(nil)
			} else {
				f.noteDefinition(list[0])
			}
		},
		set:    f.noteDefinition,
		remove: func(metav1.Object) { f.noteDefinition(nil) },
		onFailure: func(err error) {
			switch {
			case f.currentDefinition().known:
			case apierrors.IsForbidden(err):
				f.setDefinition(definition{known: true, present: true})
				signalChannel(f.definitionChanged)
			default:
				f.noteFailure(err)
			}
		},
		onAnswer: func() {},
	}, kindPace)
}

// noteDefinition takes what the kind's CustomResourceDefinition is by now; nil: there is none.
func (f *feed) noteDefinition(is *installedDefinition) {
	d := definition{known: true}
	if is != nil {
		d.present, d.version = true, fmt.Sprint(is.UID, " ", is.Generation)
	}
	f.setDefinition(d)
	f.status.updateKind(f.decl.Kind, func(k *KindState) {
		k.Bundle, k.Channel = "", ""
		k.Definition.Absent, k.Definition.Serves, k.Definition.NotServed, k.Definition.Lacks = is == nil, "", false, ""
		if is != nil {
			k.Bundle, k.Channel = is.Annotations[bundleAnnotation], is.Annotations[channelAnnotation]
			k.Definition.Serves, k.Definition.NotServed = is.differs.Serves, is.differs.NotServed
			k.Definition.Lacks = is.differs.Lacks
		}
	})
	signalChannel(f.definitionChanged) // also if it is the same one: it may be served only now
}

// setDefinition notes a definition, and when to list the kind again if it is another one than before.
func (f *feed) setDefinition(d definition) {
	f.mu.Lock()
	if f.definition.version != "" && d.version != "" && d.version != f.definition.version {
		f.rereadTimes = nil
		for _, after := range rereadDelays {
			f.rereadTimes = append(f.rereadTimes, f.now().Add(after))
		}
	}
	f.definition = d
	f.mu.Unlock()
}

func (f *feed) currentDefinition() definition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.definition
}

// trimDefinition keeps what counts of a CustomResourceDefinition, whether the whole or the metadata was sent.
func (f *feed) trimDefinition(from any) (*installedDefinition, error) {
	if is, done := from.(*installedDefinition); done {
		return is, nil
	}
	m, ok := from.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%T is no object", from)
	}
	is := &installedDefinition{ObjectMeta: metav1.ObjectMeta{
		Name: m.GetName(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(), Generation: m.GetGeneration(),
		Annotations: m.GetAnnotations(),
	}}
	whole, ok := from.(*unstructured.Unstructured)
	if !ok {
		return is, nil
	}
	serves, lacks, err := f.decl.Definition.CompareInstalled(whole.Object)
	is.differs = model.Definition{
		Serves: strings.Join(serves, ", "), Lacks: strings.Join(lacks, ", "),
		NotServed: !slices.ContainsFunc(f.decl.Versions, func(v string) bool { return slices.Contains(serves, v) }),
	}
	return is, err
}

// versionedReader reads a kind in the version that is served, as far as is known.
type versionedReader struct{ *feed }

func (v versionedReader) currentReader() reader {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.clients.kindReader(v.decl, v.decl.GroupVersion(v.version))
}

func (v versionedReader) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return v.currentReader().List(ctx, options)
}

func (v versionedReader) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return v.currentReader().Watch(ctx, options)
}

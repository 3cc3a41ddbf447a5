package objects

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Objects are a world's objects, with their status. It is what package admin shows.
type Objects struct {
	world  *world.World
	older  func() map[model.ObjectRef]string
	stamps *transitionTimes
}

// New makes Objects; Run keeps statuses up to date. older, if not nil, returns the objects that serve in an older
// version than the newest one, and why. It is not called in a View.
func New(w *world.World, older func() map[model.ObjectRef]string) *Objects {
	if older == nil {
		older = func() map[model.ObjectRef]string { return nil }
	}
	return &Objects{world: w, older: older, stamps: newTransitionTimes(w.Sources.Catalog, time.Now)}
}

// Run stamps what every turn changes, until ctx is done.
func (o *Objects) Run(ctx context.Context) error { return o.stamps.followReports(ctx, o.world) }

// countEndpoints are the endpoint counts of all objects of a kind; nil if objects of the kind have none.
func (o *Objects) countEndpoints(v flow.View, kind model.Kind) map[model.ObjectRef]string {
	if k := o.world.Sources.Catalog.FindKind(kind); k == nil || k.OwnsEndpointSlices == nil {
		return nil
	}
	return o.world.EndpointCounts(v)
}

// annotationSources is what annotations say of objects: which endpoints they have, and why an older version of them
// serves.
type annotationSources struct{ endpoints, older map[model.ObjectRef]string }

// showObject is an object as Kubernetes has it; false if there is none.
func (o *Objects) showObject(v flow.View, ref model.ObjectRef, told annotationSources) (any, bool) {
	k, source := o.world.Sources.Catalog.FindKind(ref.Kind()), o.world.Sources.KindSource(ref.Kind())
	if k == nil {
		return nil, false
	}
	found, is := source.Get(v, ref)
	if !is {
		return nil, false
	}
	var status any
	if reports := o.world.Reports.ForKind(ref.Kind()); reports != nil && k.Status != nil {
		report, _ := reports.Get(v, ref)
		status = o.stamps.withTimes(k, ref, report.Status)
	}
	t := metav1.TypeMeta{APIVersion: k.APIVersion(), Kind: k.String()}
	meta := objectMeta(ref, found.Meta, told.older[ref])
	labels, stated := k.SplitAnnotations(meta.Labels)
	meta.Labels = labels
	maps.Copy(meta.Annotations, stated)
	if text, known := told.endpoints[ref]; known {
		meta.Annotations[model.EndpointsAnnotation] = text
	}
	if u, known := flow.Get(v, o.world.Sources.Unreached.Collection(), ref); known {
		meta.Annotations[model.UnreachedAnnotation] = strconv.Itoa(u.Count)
	}
	return k.Content.Show(t, meta, found.Spec, status), true
}

// Count is how many objects of a kind there are.
func (o *Objects) Count(kind model.Kind) (n int, err error) {
	source := o.world.Sources.KindSource(kind)
	if source == nil {
		return 0, notKept(kind)
	}
	o.world.Graph.View(func(v flow.View) { n = source.Len(v) })
	return n, nil
}

// List shows the objects of a kind, in a namespace or ("") in all, by namespace and name.
func (o *Objects) List(kind model.Kind, namespace string) (list []json.RawMessage, err error) {
	source := o.world.Sources.KindSource(kind)
	if source == nil {
		return nil, notKept(kind)
	}
	var shown []any
	older := o.older()
	o.world.Graph.View(func(v flow.View) {
		refs := source.ListRefs(v)
		if namespace != "" {
			refs = slices.DeleteFunc(refs, func(ref model.ObjectRef) bool { return ref.Namespace() != namespace })
		}
		slices.SortFunc(refs, model.ObjectRef.Compare)
		endpoints := o.countEndpoints(v, kind)
		for _, ref := range refs {
			object, _ := o.showObject(v, ref, annotationSources{endpoints, older})
			shown = append(shown, object)
		}
	})
	for _, object := range shown {
		b, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("show %s: %w", kind, err)
		}
		list = append(list, b)
	}
	return list, nil
}

// Get shows one object.
func (o *Objects) Get(ref model.ObjectRef) (json.RawMessage, bool, error) {
	var object any
	var found bool
	older := o.older()
	o.world.Graph.View(func(v flow.View) {
		object, found = o.showObject(v, ref, annotationSources{o.countEndpoints(v, ref.Kind()), older})
	})
	if !found {
		return nil, false, nil
	}
	b, err := json.Marshal(object)
	if err != nil {
		return nil, false, fmt.Errorf("show %s: %w", ref, err)
	}
	return b, true, nil
}

func notKept(kind model.Kind) error { return fmt.Errorf("objects of kind %s are not kept", kind) }

func objectMeta(ref model.ObjectRef, m model.Meta, older string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Annotations: buildAnnotations(m, older),
		Name:        ref.Name(), Namespace: ref.Namespace(), UID: types.UID(cmp.Or(m.UID, derivedUID(ref))),
		Generation:        m.Generation,
		CreationTimestamp: metav1.NewTime(m.Created), Labels: m.Labels.ToMap(),
	}
}

// buildAnnotations tell what Cardea knows of an object and Kubernetes has no field for: when the file that it stands in
// was edited last, and why an older version of it serves.
func buildAnnotations(m model.Meta, older string) map[string]string {
	notes := map[string]string{}
	if m.LastEdit != nil && m.LastEdit.Where != "" {
		notes[kind.EditedAnnotation] = m.LastEdit.At.UTC().Format(time.RFC3339)
	}
	if older != "" {
		notes[kind.StaleAnnotation] = older
	}
	return notes
}

// derivedUID is a UID that is the same in every run, for an object that states none.
func derivedUID(ref model.ObjectRef) string {
	d := sha256.Sum256([]byte(ref.Kind().Group() + "/" + ref.String()))
	d[6], d[8] = d[6]&0x0f|0x80, d[8]&0x3f|0x80 // a UUID of version 8: made by a rule of our own
	h := hex.EncodeToString(d[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

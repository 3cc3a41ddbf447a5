package objects

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/world"
)

// Objects are a world's objects, with their status. It is what package admin shows.
type Objects struct {
	world  *world.World
	stamps *stamps
}

// New makes Objects; Run keeps statuses up to date.
func New(w *world.World) *Objects {
	return &Objects{world: w, stamps: newStamps(w.Sources.Catalog, time.Now)}
}

// Run stamps what every turn changes, until ctx is done.
func (o *Objects) Run(ctx context.Context) error { return o.stamps.follow(ctx, o.world) }

// endpoints are those of all objects of a kind; nil if objects of the kind have none.
func (o *Objects) endpoints(v flow.View, kind model.Kind) map[model.ObjectRef]string {
	if k := o.world.Sources.Catalog.Of(kind); k == nil || k.Sliced == nil {
		return nil
	}
	return o.world.Endpoints(v)
}

// show is an object as Kubernetes has it; false if there is none.
func (o *Objects) show(v flow.View, ref model.ObjectRef, endpoints map[model.ObjectRef]string) (any, bool) {
	k, source := o.world.Sources.Catalog.Of(ref.Kind()), o.world.Sources.Of(ref.Kind())
	if k == nil {
		return nil, false
	}
	found, is := source.Get(v, ref)
	if !is {
		return nil, false
	}
	var status any
	if reports := o.world.Reports.Of(ref.Kind()); reports != nil && k.Status != nil {
		report, _ := reports.Get(v, ref)
		status = o.stamps.stamped(k, ref, report.Status)
	}
	t := metav1.TypeMeta{APIVersion: k.APIVersion(), Kind: k.String()}
	meta := objectMeta(ref, found.Meta)
	if text, known := endpoints[ref]; known {
		meta.Annotations = map[string]string{model.EndpointsAnnotation: text}
	}
	return k.Content.Show(t, meta, found.Spec, status), true
}

// Count is how many objects of a kind there are.
func (o *Objects) Count(kind model.Kind) (n int, err error) {
	source := o.world.Sources.Of(kind)
	if source == nil {
		return 0, notKept(kind)
	}
	o.world.Graph.View(func(v flow.View) { n = source.Len(v) })
	return n, nil
}

// List shows the objects of a kind, in a namespace or ("") in all, by namespace and name.
func (o *Objects) List(kind model.Kind, namespace string) (list []json.RawMessage, err error) {
	source := o.world.Sources.Of(kind)
	if source == nil {
		return nil, notKept(kind)
	}
	var shown []any
	o.world.Graph.View(func(v flow.View) {
		refs := source.Refs(v)
		if namespace != "" {
			refs = slices.DeleteFunc(refs, func(ref model.ObjectRef) bool { return ref.Namespace() != namespace })
		}
		slices.SortFunc(refs, model.ObjectRef.Compare)
		endpoints := o.endpoints(v, kind)
		for _, ref := range refs {
			object, _ := o.show(v, ref, endpoints)
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
	o.world.Graph.View(func(v flow.View) { object, found = o.show(v, ref, o.endpoints(v, ref.Kind())) })
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

func objectMeta(ref model.ObjectRef, m model.Meta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: ref.Name(), Namespace: ref.Namespace(), UID: types.UID(cmp.Or(m.UID, derivedUID(ref))),
		Generation:        m.Generation,
		CreationTimestamp: metav1.NewTime(m.Created), Labels: m.Labels.Map(),
	}
}

// derivedUID is a UID that is the same in every run, for an object that states none.
func derivedUID(ref model.ObjectRef) string {
	d := sha256.Sum256([]byte(ref.Kind().Group() + "/" + ref.String()))
	d[6], d[8] = d[6]&0x0f|0x80, d[8]&0x3f|0x80 // a UUID of version 8: made by a rule of our own
	h := hex.EncodeToString(d[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

package status

import (
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/model"
)

// object is what is read of an object: which one it is, and its status. The rest is never decoded.
type object struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Status json.RawMessage
}

// UnmarshalJSON reads what is needed.
func (o *object) UnmarshalJSON(text []byte) error {
	var is struct {
		metav1.TypeMeta
		Metadata struct {
			Name, Namespace string
			UID             types.UID
			ResourceVersion string
			Generation      int64
			Annotations     struct {
				// Tells that a watch has told of all that there is.
				InitialEventsEnd string `json:"k8s.io/initial-events-end"`
			}
		}
		Status json.RawMessage
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return err
	}
	m := is.Metadata
	*o = object{is.TypeMeta, metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
	}, is.Status}
	if end := m.Annotations.InitialEventsEnd; end != "" {
		o.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: end}
	}
	return nil
}

// DeepCopyObject is for the client library.
func (o *object) DeepCopyObject() runtime.Object {
	c := &object{TypeMeta: o.TypeMeta, Status: append(json.RawMessage(nil), o.Status...)}
	o.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return c
}

// objectList is a page of them.
type objectList struct {
	metav1.TypeMeta
	metav1.ListMeta `json:"metadata"`
	Items           []object `json:"items"`
}

// DeepCopyObject is for the client library.
func (l *objectList) DeepCopyObject() runtime.Object {
	c := &objectList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&c.ListMeta)
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].DeepCopyObject().(*object))
	}
	return c
}

func (o *object) objectRef(kind model.Kind) model.ObjectRef {
	return model.Ref(kind, o.Namespace, o.Name)
}

// versionNumber is the resource version, 0 if it is none: then it can't be told what is older.
func (o *object) versionNumber() uint64 {
	n, err := strconv.ParseUint(o.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// takeSnapshot sums up the object. A status that can't be read counts as one that differs.
func (o *object) takeSnapshot(f *statusLayout, controller string) snapshot {
	s := snapshot{version: o.versionNumber(), generation: o.Generation}
	if p, err := f.parseStatus(o.Status, controller); err == nil {
		s.seen = f.digestParts(p)
	}
	s.seen.uid = hashUID(string(o.UID))
	return s
}

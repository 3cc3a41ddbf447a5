package kube

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"unique"

	"github.com/cespare/xxhash/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

// object is what is kept of an object of the API server, on its way to the graph.
type object struct {
	ref          model.ObjectRef
	meta         model.Meta
	spec         any    // of the type that the kind's source has
	fingerprint  uint64 // equal for versions that differ in nothing that is kept
	index        *index
	hasOwnStatus bool // its status has an entry of this controller
}

// index is what the admitter must know of an object that is in the graph.
type index struct {
	references []kind.Reference
	parts      []kind.Part
	backend    model.ObjectRef // the owner of an EndpointSlice's endpoints; zero: none
	anyPart    bool            // it has no parts, or they are not known: whoever names one of them finds it
	trimmed    bool            // most of its spec was left out, since it is another controller's
}

// plainIndex is the index of all objects that are only known to be there.
var plainIndex = &index{anyPart: true}

// objectVersion is a version of an object at the admitter; zero: there is none.
type objectVersion struct {
	fingerprint uint64
	index       *index
	object      *object // nil once it is in the graph
}

func (v objectVersion) listReferences() []kind.Reference {
	if v.index == nil {
		return nil
	}
	return v.index.references
}

// GetObjectMeta is for client-go, which sorts what it lists by name.
func (o *object) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: o.ref.Namespace(), Name: o.ref.Name()}
}

// metaOf keeps what counts of an object's metadata. The managed fields tell who made the last edit, by the entry that
// has the field that holds the kind's content.
func metaOf(m metav1.Object, labels map[string]string, content string) model.Meta {
	return model.Meta{
		UID: string(m.GetUID()), Generation: m.GetGeneration(), Created: m.GetCreationTimestamp().UTC(),
		Deleting: m.GetDeletionTimestamp() != nil, HasFinalizer: slices.Contains(m.GetFinalizers(), model.Finalizer),
		Labels:   model.LabelsOf(labels),
		LastEdit: new(ofLedger(lastEdit(m.GetManagedFields(), content), m.GetAnnotations())),
	}
}

// ofLedger is an edit with the author and the change that the object's annotations tell, if the ledger made it.
func ofLedger(edit model.LastEdit, notes map[string]string) model.LastEdit {
	if edit.By == ledger.FieldManager && notes[ledger.AuthorAnnotation] != "" {
		edit.By, edit.Message = notes[ledger.AuthorAnnotation], notes[ledger.MessageAnnotation]
		edit.Change, _ = strconv.ParseInt(notes[ledger.ChangeAnnotation], 10, 64)
	}
	return edit
}

// lastEdit finds the newest edit of a field. An edit of the status is none, nor is one of metadata alone: who adds a
// finalizer has not changed the object. If nobody has the field, whoever wrote last counts.
func lastEdit(entries []metav1.ManagedFieldsEntry, content string) model.LastEdit {
	newest := func(counts func(metav1.ManagedFieldsEntry) bool) (edit model.LastEdit) {
		for _, e := range entries {
			if e.Subresource == "" && e.Time != nil && !e.Time.Time.Before(edit.At) && counts(e) {
				edit = model.LastEdit{By: internString(e.Manager), At: e.Time.UTC()}
			}
		}
		return edit
	}
	has := []byte(`"f:` + content + `":`)
	edit := newest(func(e metav1.ManagedFieldsEntry) bool {
		return e.FieldsV1 != nil && bytes.Contains(e.FieldsV1.GetRawBytes(), has)
	})
	if edit.At.IsZero() {
		edit = newest(func(metav1.ManagedFieldsEntry) bool { return true })
	}
	return edit
}

// internString returns one copy of a string that many objects have.
func internString(s string) string { return unique.Make(s).Value() }

// generation is what tells versions of a spec apart that is of a custom kind.
type generation struct {
	number int64
	sum    uint64 // see kind.KeptObject
}

// Marshal implements kind.Marshaler.
func (g generation) Marshal() ([]byte, error) {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(g.number)), g.sum), nil
}

// fingerprintOf tells versions apart by what is kept of them.
func fingerprintOf(meta model.Meta, content kind.Marshaler) uint64 {
	h := xxhash.New()
	write := func(s string) {
		_, _ = h.WriteString(s)
		_, _ = h.Write([]byte{0})
	}
	write(meta.UID)
	if meta.HasFinalizer {
		write("held")
	}
	if meta.Deleting {
		write("deleted")
	}
	for _, l := range meta.Labels {
		write(l.Key)
		write(l.Value)
	}
	b, err := content.Marshal()
	if err != nil {
		panic("kube: content can't be compared: " + err.Error()) // it was just unmarshalled
	}
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b))))
	_, _ = h.Write(b)
	return h.Sum64()
}

package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Annotations that an object has in a cluster. They are never part of its content.
const (
	AnnotationPrefix     = "ledger.cardea.dev/"
	ObjectAnnotation     = AnnotationPrefix + "object"
	GenerationAnnotation = AnnotationPrefix + "generation"
	RevisionAnnotation   = AnnotationPrefix + "revision"
	ChangeAnnotation     = AnnotationPrefix + "change"
	EpochAnnotation      = AnnotationPrefix + "epoch" // of the ledger when it was written: see Head
	AuthorAnnotation     = AnnotationPrefix + "author"
	MessageAnnotation    = AnnotationPrefix + "message"
)

// FieldManager is who applies objects to clusters.
const FieldManager = "cardea-ledger"

// Content is an object as its author stated it, as JSON with sorted keys: apiVersion, kind, metadata with name,
// namespace, labels and annotations, and everything else but the status.
type Content []byte

// MarshalJSON writes the content as it is.
func (c Content) MarshalJSON() ([]byte, error) {
	if len(c) == 0 {
		return []byte("null"), nil
	}
	return c, nil
}

// UnmarshalJSON takes the content as it is.
func (c *Content) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*c = nil
		return nil
	}
	*c = slices.Clone(text)
	return nil
}

// Hash names a content: the SHA-256 of its bytes, in hexadecimal digits. A store names contents of Secrets by a keyed
// hash in its place, which nobody can guess contents by.
func (c Content) Hash() string {
	sum := sha256.Sum256(c)
	return hex.EncodeToString(sum[:])
}

// DecodeObject decodes a content into maps, slices, strings, bools, int64, float64 and nil.
func (c Content) DecodeObject() (object map[string]any, err error) {
	return object, utiljson.Unmarshal(c, &object)
}

// ContentOf takes of an object what its author states, and finds its key. Fields that servers write are left out:
// status, uid, resourceVersion, generation, creationTimestamp, managedFields, finalizers, ownerReferences, the ledger's
// own annotations and kubectl's copy of the last applied object. The object must state apiVersion, kind and a name; it
// is changed. The error is of code Invalid.
func ContentOf(target string, object map[string]any) (Key, Content, error) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	meta, _ := object["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	namespace, _ := meta["namespace"].(string)
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	key := Key{Target: target, Group: group, Kind: kind, Namespace: namespace, Name: name}
	for _, field := range []struct{ name, value string }{
		{"apiVersion", version}, {"kind", kind}, {"metadata.name", name},
	} {
		if field.value == "" {
			return Key{}, nil, &Error{Code: Invalid, Object: strings.TrimSpace(key.String()), Field: field.name,
				Message: "is missing", Fix: "state apiVersion, kind and metadata.name"}
		}
	}
	delete(object, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "managedFields", "finalizers", "ownerReferences", "selfLink"} {
		delete(meta, field)
	}
	if notes, ok := meta["annotations"].(map[string]any); ok {
		for note := range notes {
			if strings.HasPrefix(note, AnnotationPrefix) || note == "kubectl.kubernetes.io/last-applied-configuration" {
				delete(notes, note)
			}
		}
		if len(notes) == 0 {
			delete(meta, "annotations")
		}
	}
	text, err := marshalSorted(object)
	if err != nil {
		return Key{}, nil, &Error{Code: Invalid, Object: key.String(), Message: fmt.Sprintf("is not JSON: %v", err)}
	}
	return key, text, nil
}

// marshalSorted writes JSON with sorted keys, and no escapes that only HTML needs.
func marshalSorted(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// XBackendLabel is on EndpointSlices that have the endpoints of an XBackend in their namespace; its value is LabelValue
// of the name.
const XBackendLabel = ownGroup + "/xbackend"

// InferencePoolLabel is the same of an InferencePool.
const InferencePoolLabel = ownGroup + "/inferencepool"

// EndpointsAnnotation is on backends that the running Cardea shows, if requests are sent to them: how many endpoints
// are ready, by port ("80:2,81:0").
const EndpointsAnnotation = ownGroup + "/endpoints"

// UnreachedAnnotation is on InferencePools that the running Cardea shows, if their pickers tell: how many endpoints
// don't answer the picker.
const UnreachedAnnotation = ownGroup + "/unreached"

// MaxLabelLength is how many characters a label's value has at most.
const MaxLabelLength = 63

// LabelValue is a name as a label's value can hold it: one of more than 63 characters is cut, and told apart by a hash.
func LabelValue(name string) string {
	const hashed = 12
	if len(name) <= MaxLabelLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:MaxLabelLength-hashed-1], "-.") + "-" + hex.EncodeToString(sum[:hashed/2])
}

// Labels are an object's labels, in order of their keys. Most objects have one or none, and a map would need ten times
// the memory.
type Labels []Label

// Label is one of them.
type Label struct{ Key, Value string }

// LabelsOf makes Labels.
func LabelsOf(m map[string]string) Labels {
	if len(m) == 0 {
		return nil
	}
	l := make(Labels, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		l = append(l, Label{k, m[k]})
	}
	return l
}

// Get is the value of a label, "" if there is none.
func (l Labels) Get(key string) string {
	if i, found := slices.BinarySearchFunc(l, key,
		func(l Label, key string) int { return cmp.Compare(l.Key, key) }); found {
		return l[i].Value
	}
	return ""
}

// ToMap is nil if there are none.
func (l Labels) ToMap() map[string]string {
	if len(l) == 0 {
		return nil
	}
	m := make(map[string]string, len(l))
	for _, l := range l {
		m[l.Key] = l.Value
	}
	return m
}

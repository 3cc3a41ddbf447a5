package kind

import (
	"cmp"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// Reference is one object naming another, or a part of it.
type Reference struct {
	To model.ObjectRef
	Part
	// Keys is what is read of the entries of a Secret or ConfigMap that is named.
	Keys DataKeys
}

// DataKeys says which entries of an object's data are read.
type DataKeys uint8

const (
	// NoKeys: that the object is there, and what it is, is enough.
	NoKeys DataKeys = iota
	// PairKeys: a certificate and its key.
	PairKeys
	// AllKeys: whatever there is.
	AllKeys
)

// Part is what can be named of an object: a port of a Service, a listener of a Gateway. In a Reference, zero fields
// mean any.
type Part struct {
	Port    int32
	Section string
}

// MatchesPart says whether one of an object's parts is the one that is named.
func (r Reference) MatchesPart(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool {
		return (r.Port == 0 || p.Port == r.Port) && (r.Section == "" || p.Section == r.Section)
	})
}

// References collects what an object of a namespace names.
type References struct {
	Namespace string
	List      []Reference
}

// Add adds a reference as the Gateway API writes it, if it is to one of the kinds: whoever writes an object chooses
// what it names, so nothing is read that can't do what it is named for. A namespace that is not stated is the object's
// own.
func (r *References) Add(
	group *gatewayv1.Group, kind *gatewayv1.Kind, namespace *gatewayv1.Namespace, name gatewayv1.ObjectName, to Reference,
	kinds ...model.Kind,
) {
	k := model.KindOf(string(valueOrZero(group)), string(valueOrZero(kind)))
	if slices.Contains(kinds, k) {
		to.To = model.Ref(k, cmp.Or(string(valueOrZero(namespace)), r.Namespace), string(name))
		r.List = append(r.List, to)
	}
}

// valueOrZero is what a pointer points to, or the zero value.
func valueOrZero[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

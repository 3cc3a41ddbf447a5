package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/conditions"
)

// Lookups find what policies name. from is the policy that names it: its namespace counts, and its right to refer to
// others. They say why something can't be used.
type Lookups struct {
	Backend func(c *flow.Ctx, from model.ObjectRef, ref gatewayv1.BackendObjectReference, grpc bool) (
		to Named, why Unusable)
	Secret func(c *flow.Ctx, from model.ObjectRef, to gatewayv1.SecretObjectReference) (*input.SecretSpec, Unusable)
	// Protocol is what is spoken to a backend.
	Protocol func(c *flow.Ctx, backend model.BackendKey) model.BackendProtocol
	// Picked tells whether the picker of an InferencePool chooses its endpoints and nobody else may.
	Picked    func(c *flow.Ctx, backend model.ObjectRef) bool
	ConfigMap func(c *flow.Ctx, from model.ObjectRef, name string) (*input.ConfigMapSpec, Unusable)
	// Entry is one of a ConfigMap or a Secret; none if the object hasn't got it. ref is zero if from may not name it.
	Entry func(c *flow.Ctx, from model.ObjectRef, of gatewayv1.ObjectReference, key string) (
		ref model.ObjectRef, content []byte, why Unusable)
	// Through is a backend as this program itself asks it.
	Through func(c *flow.Ctx, backend model.BackendKey) (b model.Backend, served bool)
}

// Named is a backend that a policy names; Outside: it is a hostname.
type Named struct {
	Key     model.BackendKey
	Outside bool
}

// Unusable is why a reference can't be used, in the words of a condition; zero: it can.
type Unusable struct{ Reason, Message string }

// reader is an extend.Reader.
type reader struct {
	*scope
	*problems
	path string
	of   model.ObjectRef // the owner of the field; zero: the path tells it
}

// Of implements extend.Reader.
func (r reader) Of(stated extend.EachPolicy) extend.Reader {
	for _, level := range r.stated[r.feature] {
		for _, s := range level.List {
			if nameOf(s.Policy, r.kind.Kind) == stated.Name {
				r.of = s.Policy
			}
		}
	}
	return r
}

// Field implements extend.Reader.
func (r reader) Field(path string) extend.Reader {
	switch {
	case r.path == "":
		r.path = path
	case strings.HasPrefix(path, "["):
		r.path += path
	default:
		r.path += "." + path
	}
	return r
}

// Refuse implements extend.Reader.
func (r reader) Refuse(message string) { r.RefuseAs("Invalid", message) }

// RefuseAs implements extend.Reader.
func (r reader) RefuseAs(reason, message string) {
	r.refused = true
	r.problems.add(r.path, Finding{Policy: r.of, Condition: "Accepted", Reason: reason, Message: message})
}

// Deny implements extend.Reader.
func (r reader) Deny(message string) {
	r.refused = true
	r.problems.add(r.path, Finding{Policy: r.of, Message: message})
}

// Warn implements extend.Reader.
func (r reader) Warn(message string) {
	r.problems.add(r.path, Finding{Policy: r.of, Severity: model.Warning, Message: message})
}

// Pending implements extend.Reader.
func (r reader) Pending(message string) {
	r.pending = true
	r.problems.add(r.path, Finding{Policy: r.of,
		Severity: model.Warning, Condition: "ResolvedRefs", Reason: conditions.KeySetPending, Message: message,
	})
}

// Unresolved implements extend.Reader.
func (r reader) Unresolved(reason, message string) { r.unusable(Unusable{reason, message}) }

func (r reader) unusable(why Unusable) bool {
	if why == (Unusable{}) {
		return false
	}
	r.refused = true
	r.problems.add(r.path, Finding{Policy: r.of, Condition: "ResolvedRefs", Reason: why.Reason, Message: why.Message})
	return true
}

// Backend implements extend.Reader.
func (r reader) Backend(ref gatewayv1.BackendObjectReference) (extend.BackendKey, bool) {
	named, why := r.m.lookups.Backend(r.c, r.owner(), ref, false)
	return named.Key, !r.unusable(why)
}

// Server implements extend.Reader.
func (r reader) Server(ref gatewayv1.BackendObjectReference, grpc bool) (extend.BackendKey, bool, bool) {
	named, why := r.m.lookups.Backend(r.c, r.owner(), ref, grpc)
	return named.Key, named.Outside, !r.unusable(why)
}

// Secret implements extend.Reader.
func (r reader) Secret(ref gatewayv1.SecretObjectReference) (map[string]extend.Bytes, bool) {
	secret, why := r.m.lookups.Secret(r.c, r.owner(), ref)
	if r.unusable(why) {
		return nil, false
	}
	data := make(map[string]extend.Bytes, len(secret.Data))
	for key, value := range secret.Data {
		data[key] = value
	}
	return data, true
}

// Text implements extend.Reader.
func (r reader) Text(from extend.TextSource) (string, bool) {
	if from.ConfigMapRef == nil {
		if from.Inline == nil {
			r.Refuse("state inline or configMapRef")
			return "", false
		}
		return *from.Inline, true
	}
	at := r.Field("configMapRef").(reader)
	found, why := r.m.lookups.ConfigMap(r.c, r.owner(), from.ConfigMapRef.Name)
	if at.unusable(why) {
		return "", false
	}
	if text, ok := found.Data[from.ConfigMapRef.Key]; ok {
		return text, true
	}
	if text, ok := found.BinaryData[from.ConfigMapRef.Key]; ok {
		return string(text), true
	}
	keys := slices.Sorted(maps.Keys(found.Data))
	at.Field("key").(reader).unusable(Unusable{"ConfigMapKeyNotFound",
		"the ConfigMap has no entry " + from.ConfigMapRef.Key + model.Meant(from.ConfigMapRef.Key, keys)})
	return "", false
}

// Effective implements extend.Reader.
func (r reader) Effective(feature string, into any) bool {
	e := r.merged[feature]
	return e.JSON != "" && json.Unmarshal([]byte(e.JSON), into) == nil
}

// Names implements extend.Reader.
func (r reader) Names(kind, feature, list string) []string {
	return r.m.Store.names.of(r.c, listKey{kind, feature, list})
}

// Where implements extend.Reader.
func (r reader) Where() extend.Where {
	where := r.where
	where.HTTP1 = r.http1 != nil && r.http1() // looked up for those features only that ask
	where.Picked = r.picked != nil && r.picked()
	if f := r.kind.Of(r.feature); f != nil && f.EachLevel {
		e, _ := flow.Fetch(r.c, r.m.in.Sources.Environment.Collection(), model.ObjectRef{})
		where.TrustDomain, where.PortOffset = e.TrustDomain, e.PortOffset
	}
	return where
}

// IdentityHeaders implements extend.Reader.
func (r reader) IdentityHeaders() []string {
	if r.identity == nil {
		return nil
	}
	return r.identity()
}

// Owner implements extend.Reader.
func (r reader) Owner() string { return r.owner().String() }

// owner is the object that stated the field: a policy, or the route if it is one of the route's own fields.
func (r reader) owner() model.ObjectRef {
	if r.of != (model.ObjectRef{}) {
		return r.of
	}
	from := r.effective.owner(r.path)
	if from.Level == LevelOwn {
		return r.route
	}
	return from.Policy
}

// owner is who stated what stands at a path: the field itself, one of those below it, or what it is a part of.
func (e *Effective) owner(path string) (from Source) {
	for _, f := range e.Fields {
		if f.Path == path || below(path, f.Path) || below(f.Path, path) {
			if from == (Source{}) || f.From.Level > from.Level && f.From.Policy != (model.ObjectRef{}) {
				from = f.From
			}
		}
	}
	if from == (Source{}) && path != "" {
		return e.owner("") // a field that nobody states and that should be: the narrowest policy's
	}
	return from
}

// below tells whether a path leads to a part of another one.
func below(whole, part string) bool {
	rest, found := strings.CutPrefix(part, whole)
	return whole == "" || found && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

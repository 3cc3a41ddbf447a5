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
	"cardea.dev/cardea/internal/translate/problem"
)

// Lookups find what policies name. from is the policy that names it: its namespace counts, and its right to refer to
// others. They say why something can't be used.
type Lookups struct {
	ResolveBackend func(c *flow.Ctx, from model.ObjectRef, ref gatewayv1.BackendObjectReference, grpc bool) (
		to NamedBackend, why problem.Unusable)
	Secret func(c *flow.Ctx, from model.ObjectRef, to gatewayv1.SecretObjectReference) (*input.SecretSpec,
		problem.Unusable)
	// Protocol is what is spoken to a backend.
	Protocol func(c *flow.Ctx, backend model.BackendKey) model.BackendProtocol
	// HasPicker tells whether the picker of an InferencePool chooses its endpoints and nobody else may.
	HasPicker func(c *flow.Ctx, backend model.ObjectRef) bool
	ConfigMap func(c *flow.Ctx, from model.ObjectRef, name string) (*input.ConfigMapSpec, problem.Unusable)
	// Entry is one of a ConfigMap or a Secret; none if the object hasn't got it. ref is zero if from may not name it.
	Entry func(c *flow.Ctx, from model.ObjectRef, of gatewayv1.ObjectReference, key string) (
		ref model.ObjectRef, content []byte, why problem.Unusable)
	// Through is a backend as this program itself asks it.
	Through func(c *flow.Ctx, backend model.BackendKey) (b model.Backend, served bool)
}

// NamedBackend is a backend that a policy names; Outside: it is a hostname.
type NamedBackend struct {
	Key     model.BackendKey
	Outside bool
}

// reader is an extend.Reader.
type reader struct {
	*featureScope
	*problemCollector
	fieldPath string
	of        model.ObjectRef // the owner of the field; zero: the path tells it
}

// Of implements extend.Reader.
func (r reader) Of(stated extend.EachPolicy) extend.Reader {
	for _, level := range r.stated[r.feature] {
		for _, s := range level.List {
			if nameOf(s.Policy, r.policyKind.Kind) == stated.Name {
				r.of = s.Policy
			}
		}
	}
	return r
}

// Field implements extend.Reader.
func (r reader) Field(path string) extend.Reader {
	switch {
	case r.fieldPath == "":
		r.fieldPath = path
	case strings.HasPrefix(path, "["):
		r.fieldPath += path
	default:
		r.fieldPath += "." + path
	}
	return r
}

// Refuse implements extend.Reader.
func (r reader) Refuse(message string) { r.RefuseAs("Invalid", message) }

// RefuseAs implements extend.Reader.
func (r reader) RefuseAs(reason, message string) {
	r.refused = true
	r.problemCollector.addFinding(r.fieldPath, Finding{Policy: r.of, Condition: "Accepted", Reason: reason,
		Message: message})
}

// Deny implements extend.Reader.
func (r reader) Deny(message string) {
	r.refused = true
	r.problemCollector.addFinding(r.fieldPath, Finding{Policy: r.of, Message: message})
}

// Warn implements extend.Reader.
func (r reader) Warn(message string) {
	r.problemCollector.addFinding(r.fieldPath, Finding{Policy: r.of, Severity: model.Warning, Message: message})
}

// Pending implements extend.Reader.
func (r reader) Pending(message string) {
	r.pending = true
	r.problemCollector.addFinding(r.fieldPath, Finding{Policy: r.of,
		Severity: model.Warning, Condition: "ResolvedRefs", Reason: conditions.KeySetPending, Message: message,
	})
}

// Unresolved implements extend.Reader.
func (r reader) Unresolved(reason, message string) {
	r.reportUnusable(problem.Unusable{Reason: reason, Message: message})
}

func (r reader) reportUnusable(why problem.Unusable) bool {
	if why.IsZero() {
		return false
	}
	r.refused = true
	r.problemCollector.addFinding(r.fieldPath, Finding{Policy: r.of, Condition: "ResolvedRefs", Reason: why.Reason,
		Message: why.Message})
	return true
}

// Backend implements extend.Reader.
func (r reader) Backend(ref gatewayv1.BackendObjectReference) (extend.BackendKey, bool) {
	named, why := r.m.lookups.ResolveBackend(r.c, r.ownerRef(), ref, false)
	return named.Key, !r.reportUnusable(why)
}

// Server implements extend.Reader.
func (r reader) Server(ref gatewayv1.BackendObjectReference, grpc bool) (extend.BackendKey, bool, bool) {
	named, why := r.m.lookups.ResolveBackend(r.c, r.ownerRef(), ref, grpc)
	return named.Key, named.Outside, !r.reportUnusable(why)
}

// Secret implements extend.Reader.
func (r reader) Secret(ref gatewayv1.SecretObjectReference) (map[string]extend.Bytes, bool) {
	secret, why := r.m.lookups.Secret(r.c, r.ownerRef(), ref)
	if r.reportUnusable(why) {
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
	found, why := r.m.lookups.ConfigMap(r.c, r.ownerRef(), from.ConfigMapRef.Name)
	if at.reportUnusable(why) {
		return "", false
	}
	if text, ok := found.Data[from.ConfigMapRef.Key]; ok {
		return text, true
	}
	if text, ok := found.BinaryData[from.ConfigMapRef.Key]; ok {
		return string(text), true
	}
	keys := slices.Sorted(maps.Keys(found.Data))
	at.Field("key").(reader).reportUnusable(problem.Unusable{Reason: "ConfigMapKeyNotFound",
		Message: "the ConfigMap has no entry " + from.ConfigMapRef.Key + model.SuggestNames(from.ConfigMapRef.Key, keys)})
	return "", false
}

// Effective implements extend.Reader.
func (r reader) Effective(feature string, into any) bool {
	e := r.merged[feature]
	return e.JSON != "" && json.Unmarshal([]byte(e.JSON), into) == nil
}

// Names implements extend.Reader.
func (r reader) Names(kind, feature, list string) []string {
	return r.m.Store.names.inList(r.c, listKey{kind, feature, list})
}

// Location implements extend.Reader.
func (r reader) Location() extend.Location {
	where := r.where
	where.HTTP1 = r.onlyHTTP1 != nil && r.onlyHTTP1() // looked up for those features only that ask
	where.Picked = r.hasPicker != nil && r.hasPicker()
	if f := r.policyKind.FindFeature(r.feature); f != nil && f.Unmerged != nil {
		e, _ := flow.Fetch(r.c, r.m.inputs.Sources.Environment.Collection(), model.ObjectRef{})
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
func (r reader) Owner() string { return r.ownerRef().String() }

// ownerRef is the object that stated the field: a policy, or the route if it is one of the route's own fields.
func (r reader) ownerRef() model.ObjectRef {
	if r.of != (model.ObjectRef{}) {
		return r.of
	}
	from := r.effective.sourceOf(r.fieldPath)
	if from.Level == LevelOwn {
		return r.route
	}
	return from.Policy
}

// sourceOf is who stated what stands at a path: the field itself, one of those below it, or what it is a part of.
func (e *Effective) sourceOf(path string) (from Source) {
	for _, f := range e.Fields {
		if f.Path == path || isPathBelow(path, f.Path) || isPathBelow(f.Path, path) {
			if from == (Source{}) || f.From.Level > from.Level && f.From.Policy != (model.ObjectRef{}) {
				from = f.From
			}
		}
	}
	if from == (Source{}) && path != "" {
		return e.sourceOf("") // a field that nobody states and that should be: the narrowest policy's
	}
	return from
}

// isPathBelow tells whether a path leads to a part of another one.
func isPathBelow(whole, part string) bool {
	rest, found := strings.CutPrefix(part, whole)
	return whole == "" || found && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "["))
}

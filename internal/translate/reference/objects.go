package reference

import (
	"cmp"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/problem"
)

// ResolveSecret finds the Secret that an object names and may name.
func (refs Lookups) ResolveSecret(
	c *flow.Ctx, from model.ObjectRef, to gatewayv1.SecretObjectReference,
) (*input.SecretSpec, problem.Unusable) {
	ref, why := secretNamed(from, to)
	switch {
	case why != "":
		return nil, problem.Unusable{Reason: "InvalidKind", Message: why}
	case !refs.Grants.IsPermitted(c, from, ref):
		return nil, problem.Unusable{Reason: "RefNotPermitted", Message: refs.Grants.DescribeRefusal(c, from, ref)}
	}
	return lookUp(c, refs.in.Secrets, refs.in, ref, "SecretNotFound")
}

// ResolveConfigMap finds the ConfigMap that an object names, in the object's namespace.
func (refs Lookups) ResolveConfigMap(
	c *flow.Ctx, from model.ObjectRef, name string,
) (*input.ConfigMapSpec, problem.Unusable) {
	return lookUp(c, refs.in.ConfigMaps, refs.in, model.Ref(model.KindConfigMap, from.Namespace(), name),
		"ConfigMapNotFound")
}

// ResolveEntry finds an entry of a ConfigMap or a Secret that an object names and may name.
func (refs Lookups) ResolveEntry(
	c *flow.Ctx, from model.ObjectRef, of gatewayv1.ObjectReference, key string,
) (model.ObjectRef, []byte, problem.Unusable) {
	ref := model.Ref(model.KindOf(string(of.Group), string(of.Kind)),
		cmp.Or(string(derefOrZero(of.Namespace)), from.Namespace()), string(of.Name))
	switch {
	case ref.Kind() != model.KindConfigMap && ref.Kind() != model.KindSecret:
		return model.ObjectRef{}, nil, problem.Unusable{Reason: "InvalidKind", Message: fmt.Sprintf(
			"%s (group %q) is neither a ConfigMap nor a Secret of the core group", of.Kind, of.Group)}
	case !refs.Grants.IsPermitted(c, from, ref):
		return model.ObjectRef{}, nil, problem.Unusable{Reason: "RefNotPermitted",
			Message: refs.Grants.DescribeRefusal(c, from, ref)}
	case ref.Kind() == model.KindSecret:
		secret, why := lookUp(c, refs.in.Secrets, refs.in, ref, "SecretNotFound")
		if secret == nil {
			return ref, nil, why
		}
		return ref, secret.Data[key], why
	}
	found, why := lookUp(c, refs.in.ConfigMaps, refs.in, ref, "ConfigMapNotFound")
	if found == nil {
		return ref, nil, why
	}
	return ref, []byte(cmp.Or(found.Data[key], string(found.BinaryData[key]))), why
}

// secretNamed fills in the defaults of a reference to a Secret.
func secretNamed(from model.ObjectRef, to gatewayv1.SecretObjectReference) (ref model.ObjectRef, wrong string) {
	kind, namespace := model.KindSecret, from.Namespace()
	if to.Kind != nil || to.Group != nil {
		kind = model.KindOf(string(derefOrZero(to.Group)), string(derefOrZero(to.Kind)))
		if to.Kind == nil {
			kind = model.KindOf(string(*to.Group), "Secret")
		}
	}
	if kind != model.KindSecret {
		return ref, fmt.Sprintf("kind %s (group %q) is not supported; use a Secret", kind, kind.Group())
	}
	if to.Namespace != nil {
		namespace = string(*to.Namespace)
	}
	return model.Ref(kind, namespace, string(to.Name)), ""
}

// derefOrZero is what a pointer points to, or the zero value.
func derefOrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// lookUp finds an object that is read when something names it.
func lookUp[S any](
	c *flow.Ctx, source *input.Source[S], in *kinds.Sources, ref model.ObjectRef, reason string,
) (*S, problem.Unusable) {
	if o, found := flow.Fetch(c, source.Collection(), ref); found {
		return o.Spec, problem.Unusable{}
	}
	if why, unread := flow.Fetch(c, in.Unreadable.Collection(), ref); unread {
		return nil, problem.Unusable{Reason: reason, Message: fmt.Sprintf("%s can't be read: %s", ref, why)}
	}
	return nil, problem.Unusable{Reason: reason, Message: input.DescribeAbsent(c, in.Broken.Collection(), ref)}
}

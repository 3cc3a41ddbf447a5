package extend

import (
	"encoding/json"
	"errors"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	kjson "sigs.k8s.io/json"
)

// Plugin is a feature or a kind of policy, as the program takes them.
type Plugin struct {
	Kind    *Kind
	Feature *UntypedFeature
}

// Plug makes it something that the program takes.
func (k Kind) Plug() Plugin { return Plugin{Kind: &k} }

// UntypedFeature is a Feature without its types: specs are JSON, and values are what Read made.
type UntypedFeature struct {
	Declaration
	// Read's error names a field that is not known, or of a wrong type.
	Read       func(r Reader, effective []byte) (Value, error)
	Off        Value                                   // of Rendering.Off; nil: there is none
	Judge      func(q Request, shown []byte) []Verdict // of what Value.PublicJSON wrote
	Describe   func(shown []byte) []string
	RuleFields func(rule gatewayv1.HTTPRouteRule) (spec []byte, stated bool)
	Refers     func(spec []byte) []Reference
	UntypedIdentity
	Agents UntypedAgents
}

// Value is what a feature made of an effective spec.
type Value interface {
	// Rendered is what a data plane's Rendering made of it, for that data plane only; nil: it has nothing for the feature.
	Rendered(dataPlane string) any
	// PublicJSON is the value as JSON, without what must not be shown.
	PublicJSON() []byte
	// CORS is the value itself, if it is CORS; nil: it is something else.
	CORS() *CORS
	// RereadPerRule tells whether each rule that inherits it reads it once more.
	RereadPerRule() Reread
	// Sets and Reads are as the Feature's.
	Sets() IdentityHeaders
	Reads() []string
}

// Reread says which rules read once more what they inherit, since it can't be served for all of them alike. A value of
// a feature that has such rules has a method Reread.
type Reread uint8

const (
	RereadNever Reread = iota
	RereadGRPC         // those of GRPCRoutes
	RereadAll
)

// Plug makes it something that the program takes.
func (f Feature[S, V]) Plug() Plugin {
	u := &UntypedFeature{
		Declaration: f.Declaration, Read: f.readUntyped, Refers: f.findReferences, Judge: judgeShown(f.Judge),
		UntypedIdentity: f.Identity.toUntyped(), Agents: f.Agents.toUntyped(f.Renders),
	}
	if off := renderAll(f.Renders, func(by Rendering[V]) any { return by.Off }); off != nil {
		u.Off = value[V]{rendered: off}
	}
	if f.Describe != nil {
		u.Describe = func(shown []byte) []string { return f.Describe(decodeValue[V](shown)) }
	}
	if f.RuleFields != nil {
		u.RuleFields = func(rule gatewayv1.HTTPRouteRule) ([]byte, bool) {
			s, stated := f.RuleFields(rule)
			if !stated {
				return nil, false
			}
			return mustEncode(json.Marshal(s)), true
		}
	}
	return Plugin{Feature: u}
}

func (f Feature[S, V]) readUntyped(r Reader, effective []byte) (Value, error) {
	var s S
	if err := UnmarshalStrict(effective, &s); err != nil {
		return nil, err
	}
	v := f.Read(r, s)
	rendered := renderAll(f.Renders, func(by Rendering[V]) any { return by.Value(v) })
	return value[V]{rendered, v, f.Identity.Sets, f.Identity.Reads}, nil
}

func (f Feature[S, V]) findReferences(spec []byte) []Reference {
	if f.Unmerged != nil && f.Unmerged.Refers != nil {
		return f.Unmerged.Refers(spec)
	}
	var s S
	if json.Unmarshal(spec, &s) != nil {
		return nil // who reads it says so
	}
	return findReferences(s)
}

// value implements Value.
type value[V any] struct {
	rendered map[string]any // by data plane
	v        V
	sets     func(V) IdentityHeaders
	reads    func(V) []string
}

func (v value[V]) Rendered(dataPlane string) any { return v.rendered[dataPlane] }
func (v value[V]) PublicJSON() []byte            { return mustEncode(json.Marshal(v.v)) }

func (v value[V]) CORS() *CORS {
	if c, is := any(v.v).(CORS); is {
		return &c
	}
	return nil
}

func (v value[V]) RereadPerRule() Reread {
	if a, has := any(v.v).(interface{ RereadPerRule() Reread }); has {
		return a.RereadPerRule()
	}
	return RereadNever
}

func (v value[V]) Sets() (h IdentityHeaders) {
	if v.sets != nil {
		h = v.sets(v.v)
	}
	return h
}

func (v value[V]) Reads() []string {
	if v.reads == nil {
		return nil
	}
	return v.reads(v.v)
}

// UnmarshalStrict reads JSON; a field that is not known is an error.
func UnmarshalStrict(text []byte, into any) error {
	wrong, err := kjson.UnmarshalStrict(text, into)
	return errors.Join(append(wrong, err)...)
}

// judgeShown has a function take what PublicJSON wrote, instead of a value; nil stays nil.
func judgeShown[V, R any](judge func(q Request, v V) R) func(q Request, shown []byte) R {
	if judge == nil {
		return nil
	}
	return func(q Request, shown []byte) R { return judge(q, decodeValue[V](shown)) }
}

// decodeValue reads a value that PublicJSON wrote.
func decodeValue[V any](shown []byte) (v V) {
	if err := json.Unmarshal(shown, &v); err != nil {
		panic(fmt.Sprintf("extend: a value that was written can't be read: %v", err))
	}
	return v
}

func decodeValues[V any](shown []string) (all []V) {
	for _, text := range shown {
		all = append(all, decodeValue[V]([]byte(text)))
	}
	return all
}

func mustEncode(b []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprintf("extend: %v", err))
	}
	return b
}

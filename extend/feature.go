package extend

import (
	"encoding/json"
	"errors"
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	kjson "sigs.k8s.io/json"
)

// Feature is one field of a policy. S is its spec, a struct as encoding/json reads it; V is what is made of that, plain
// data that encoding/json can write and read back.
type Feature[S, V any] struct {
	Kind string // the kind that has the field: SecurityPolicy, ..., or one of your own, "WAFPolicy.waf.example.com"
	// Name is the field: "jwt". The name of a feature that is not Cardea's own has a domain, "example.com/signing", and
	// stands under spec.extensions.
	Name string
	// Schema is the OpenAPI schema of S, as the command schemagen writes it. How values of several policies merge is said
	// there, in Kubernetes' words (x-kubernetes-map-type, x-kubernetes-list-type), and nowhere else. It has no defaults:
	// a default would count as stated, and replace what a broader policy states.
	Schema []byte
	Levels Levels
	// OnInvalid is what becomes of the requests concerned if the effective spec can't be served.
	OnInvalid OnInvalid
	// Group names features of one kind that are rendered together: where one of them is stated, all are. "": it is alone.
	Group string
	// PortFields are those fields of a feature that is AtListener that are as if they were AtPort. Read is asked for them
	// and for the others apart.
	PortFields []string
	// DisabledWith names a feature of the kind: who turns that off, turns this one off, too. "": none.
	DisabledWith string
	// UnlessUpgrade: what is inherited does not hold for a rule of a listener without TLS that does nothing but redirect
	// to https: a request would be asked for credentials in clear text.
	UnlessUpgrade bool
	// Answers: it answers requests in place of the backends of a rule.
	Answers bool
	// MCPServer: where a rule names it in an extensionRef, the rule's backends are a server of MCP, whatever they speak.
	MCPServer bool
	// Failover: requests to an InferencePool without endpoints go to the backend that S refers to. It is AtPool.
	Failover bool
	// EachLevel: what policies state is not merged, and no level replaces another one. S is Each, and is read for what the
	// policies of one level state, or of a few; filters have to have names of their level, so that they all run. Such a
	// feature is all that its kind of policies states: its fields stand in their spec.
	EachLevel bool
	// Identified are the fields of a spec that are about who sent a request, which a SecurityPolicy finds out; nil: none.
	Identified func(s S) []Identified
	// Names are lists of its spec; other kinds may ask for the names of their elements (Reader.Names): "providers".
	Names []string
	// UnlessDirect: it has no effect on a rule that answers by itself, with a redirect or by a feature that Answers. An
	// inherited value does not hold there; a value that is stated for such a rule is refused.
	UnlessDirect bool

	// UnlessPlaintext: it has no effect on listeners without TLS. An inherited value does not hold there; a value that is
	// stated for such a listener is refused.
	UnlessPlaintext bool

	// Own is what the fields of a route's rule state of the feature, which is narrower than any policy; nil: they can't.
	Own func(rule gatewayv1.HTTPRouteRule) (s S, stated bool)
	// Read makes a value of an effective spec. Problems are told to the Reader.
	Read func(r Reader, effective S) V
	// Envoy renders it.
	Envoy EnvoyFuncs[V]
	// Sets are the headers in which a value of a feature that is AtRule tells who sent a request, or what was found out
	// about it; nil: none.
	Sets func(v V) IdentityHeaders
	// Reads are the headers of requests that a value depends on before anybody is authenticated, in small letters
	// (AnyHeader: any of them); nil: none. Where one of them is of IdentityHeaders, the value is read for each rule.
	Reads func(v V) []string
	// Judge tells what a proxy does with a request because of the feature; nil: it can't be told. It is asked only where
	// the feature has HTTP filters.
	Judge func(q Request, v V) []Verdict
	// JudgeAgents is Judge of what Envoy.Agents renders; nil: there is nothing.
	JudgeAgents func(q Request) []Verdict
	// Decide tells what each level of a value says of a request with a known Agent; nil: nothing.
	Decide func(q Request, v V) []Decision
	// Grants are who may ask for what, where all of some values hold. Callers, and what they may ask for, are those that
	// the values name, and those that others name. nil: it can't be told.
	Grants func(all, others []V) []Grant
	// Tools are those that the rules of some values name; nil: none are.
	Tools func(all []V) []NamedTool
	// Protects: what a policy is for that states it may not be served while the policy can't be read (Kind.Protects).
	Protects bool
	// Certificates are the fields of a policy's spec that take only callers with certificates, if the feature is
	// EachLevel; nil: there are none.
	Certificates func(stated EachPolicy) (fields []string)
	// Harmless tells whether a policy with this spec of Whole, which may not be valid, would refuse nothing if it were:
	// then it closes nothing, and its last good version stays. Another one closes what it is for, whatever its last good
	// version says. Kinds that count as another (As) are never harmless. nil: no policy is.
	Harmless func(spec map[string]any) bool
	// Refers are the references of a policy's spec, if the feature is EachLevel; nil: it has none. Those of other features
	// are found in S.
	Refers func(spec []byte) []Reference
	// Words tells of a value what matters to users, for explanations; nil: nothing but the fields.
	Words func(v V) []string
}

// EnvoyFuncs render a value for Envoy, each at its kind of level. A nil one: the data plane can't do it there.
type EnvoyFuncs[V any] struct {
	Rule     func(e EnvoyRule, v V)
	Listener func(e EnvoyListener, v V)
	Backend  func(e EnvoyBackend, v V)
	// Agents renders what each rule with a backend that speaks MCP needs where the feature, which is AtRule, is stated:
	// for the rule, or at a broader level, or for such a backend. It depends on no value.
	Agents func(e EnvoyRule)
	// Off renders for the connections of a listener that the feature is turned off, where the data plane does something of
	// its own as long as nothing is stated; nil: it does nothing.
	Off func(e EnvoyListener)
}

// Levels says where a feature can be stated.
type Levels uint8

const (
	// AtRule: for requests. By policies on GatewayClasses, Gateways, their listeners, routes and rules, and by a rule's
	// extensionRef.
	AtRule Levels = 1 << iota
	// AtExtension: by a rule's extensionRef only, in a policy without targets.
	AtExtension
	// AtBackendRef: for the requests to one of a rule's backends, by an extensionRef of the backendRef.
	AtBackendRef
	// AtListener: for connections, by policies on GatewayClasses, Gateways and listeners.
	AtListener
	// AtPort: as AtListener; all listeners of a port share one value.
	AtPort
	// AtBackend: by policies on GatewayClasses, Gateways, backends and their ports.
	AtBackend
	// AtRuleBackend: for the requests that rules send to a backend, by policies on XBackends. The feature is EachLevel.
	AtRuleBackend
	// AtPool: by policies on InferencePools.
	AtPool
)

// Has tells whether all of some levels are among them.
func (l Levels) Has(some Levels) bool { return l&some == some }

// OnInvalid is what becomes of requests if what is stated for them can't be served.
type OnInvalid string

const (
	// Deny: they are answered with an error rather than served without. For a feature that is AtListener or AtPort,
	// connections are closed.
	Deny OnInvalid = "Deny"
	// Skip: they are served without the feature.
	Skip OnInvalid = "Skip"
	// Keep: they are served without the field that is wrong.
	Keep OnInvalid = "Keep"
)

// Kind is a kind of policy.
type Kind struct {
	Group, Version string // "waf.example.com", "v1alpha1"
	Name, Plural   string // "WAFPolicy", "wafpolicies"
	Short          []string
	Description    string // for `kubectl explain`
	// Features says where its features are stated: AtRule, AtListener or AtBackend; AtExtension alone: its objects have no
	// targets, and count where rules name them in an extensionRef.
	Features Levels
	// Protects: whatever an object states protects what the object is for. While one can't be read, and no good version of
	// it is held, that is closed: requests are answered with an error, connections end, backends get nothing. If the kind
	// does not, that is so for its objects that state a feature that Protects.
	Protects bool
	// As says that its objects are policies of another kind; nil: they are their own. Features is not stated then.
	As *As
}

// As is the kind that objects of another one count as. All that they state but for their targets is told to the kind's
// feature, which is EachLevel.
type As struct {
	Kind       string // as in Feature.Kind
	Definition []byte // the CustomResourceDefinition, in YAML; it has targetRefs, as policies have
	// Older are versions of the definition with other schemas, with what makes a spec of the others of theirs. Files may
	// be written in them.
	Older map[string]func(spec map[string]any) (map[string]any, error)
}

// The kinds of Cardea's own policies, by their names in Feature.Kind.
const (
	ClientPolicy   = "ClientPolicy"
	SecurityPolicy = "SecurityPolicy"
	TrafficPolicy  = "TrafficPolicy"
	BackendPolicy  = "BackendPolicy"
	AccessPolicy   = "AccessPolicy"
)

// Plugin is a feature or a kind of policy, as the program takes them.
type Plugin struct {
	Kind    *Kind
	Feature *Declared
}

// Plug makes it something that the program takes.
func (k Kind) Plug() Plugin { return Plugin{Kind: &k} }

// Declared is a Feature without its types: specs are JSON, and values are what Read made.
type Declared struct {
	Kind, Name    string
	Schema        []byte
	Levels        Levels
	OnInvalid     OnInvalid
	Group         string
	DisabledWith  string
	PortFields    []string
	UnlessUpgrade bool
	Answers       bool
	MCPServer     bool
	Failover      bool
	EachLevel     bool
	Protects      bool
	Names         []string
	UnlessDirect  bool
	ReadsHeaders  bool // it has Reads
	// UnlessPlaintext is as the Feature's.
	UnlessPlaintext bool

	// Identified is as the Feature's.
	Identified func(spec []byte) []Identified

	Own    func(rule gatewayv1.HTTPRouteRule) (spec []byte, stated bool)
	Read   func(r Reader, effective []byte) (Value, error) // an error names a field that is not known, or of a wrong type
	Off    Value                                           // of EnvoyFuncs.Off; nil: there is none
	Agents Value                                           // of EnvoyFuncs.Agents; nil: there is none
	Judge  func(q Request, shown []byte) []Verdict         // of what Value.Shown wrote
	Words  func(shown []byte) []string
	Decide func(q Request, shown []byte) []Decision
	Grants func(shown, others []string) []Grant
	Tools  func(shown []string) []NamedTool
	// JudgeAgents, Certificates and Harmless are as the Feature's.
	JudgeAgents  func(q Request) []Verdict
	Certificates func(stated EachPolicy) (fields []string)
	Harmless     func(spec map[string]any) bool
	Refers       func(spec []byte) []Reference
}

// Value is what a feature made of an effective spec.
type Value interface {
	// Rule, Listener and Backend render it; false: the data plane can't do that there.
	Rule(e EnvoyRule) bool
	Listener(e EnvoyListener) bool
	Backend(e EnvoyBackend) bool
	// Shown is the value as JSON, without what must not be shown.
	Shown() []byte
	// Anew tells whether each rule that inherits it reads it once more.
	Anew() Anew
	// Sets and Reads are as the Feature's.
	Sets() IdentityHeaders
	Reads() []string
}

// Anew says which rules read once more what they inherit, since it can't be served for all of them alike. A value of a
// feature that has such rules has a method Anew.
type Anew uint8

const (
	AnewNever Anew = iota
	AnewGRPC       // those of GRPCRoutes
	AnewAll
)

// Plug makes it something that the program takes.
func (f Feature[S, V]) Plug() Plugin {
	d := &Declared{
		Kind: f.Kind, Name: f.Name, Schema: f.Schema, Levels: f.Levels, OnInvalid: f.OnInvalid, Group: f.Group,
		PortFields: f.PortFields, UnlessUpgrade: f.UnlessUpgrade, Answers: f.Answers, UnlessDirect: f.UnlessDirect,
		MCPServer: f.MCPServer, Failover: f.Failover, Protects: f.Protects, DisabledWith: f.DisabledWith,
		UnlessPlaintext: f.UnlessPlaintext, EachLevel: f.EachLevel, Names: f.Names, ReadsHeaders: f.Reads != nil,
		JudgeAgents: f.JudgeAgents, Certificates: f.Certificates, Harmless: f.Harmless,
		Read: func(r Reader, effective []byte) (Value, error) {
			var s S
			if err := Strict(effective, &s); err != nil {
				return nil, err
			}
			return value[V]{f.Envoy, f.Read(r, s), f.Sets, f.Reads}, nil
		},
		Refers: func(spec []byte) []Reference {
			var s S
			if json.Unmarshal(spec, &s) != nil {
				return nil // who reads it says so
			}
			return references(s)
		},
	}
	if f.Refers != nil {
		d.Refers = f.Refers
	}
	if off := f.Envoy.Off; off != nil {
		d.Off = value[V]{envoy: EnvoyFuncs[V]{Listener: func(e EnvoyListener, _ V) { off(e) }}}
	}
	if agents := f.Envoy.Agents; agents != nil {
		d.Agents = value[V]{envoy: EnvoyFuncs[V]{Rule: func(e EnvoyRule, _ V) { agents(e) }}}
	}
	if f.Own != nil {
		d.Own = func(rule gatewayv1.HTTPRouteRule) ([]byte, bool) {
			s, stated := f.Own(rule)
			if !stated {
				return nil, false
			}
			return must(json.Marshal(s)), true
		}
	}
	if f.Identified != nil {
		d.Identified = func(spec []byte) []Identified {
			var s S
			if json.Unmarshal(spec, &s) != nil {
				return nil // who reads it says so
			}
			return f.Identified(s)
		}
	}
	if f.Judge != nil {
		d.Judge = func(q Request, shown []byte) []Verdict { return f.Judge(q, typed[V](shown)) }
	}
	if f.Decide != nil {
		d.Decide = func(q Request, shown []byte) []Decision { return f.Decide(q, typed[V](shown)) }
	}
	if f.Grants != nil {
		d.Grants = func(shown, others []string) []Grant { return f.Grants(allTyped[V](shown), allTyped[V](others)) }
	}
	if f.Tools != nil {
		d.Tools = func(shown []string) []NamedTool { return f.Tools(allTyped[V](shown)) }
	}
	if f.Words != nil {
		d.Words = func(shown []byte) []string { return f.Words(typed[V](shown)) }
	}
	return Plugin{Feature: d}
}

// value implements Value.
type value[V any] struct {
	envoy EnvoyFuncs[V]
	v     V
	sets  func(V) IdentityHeaders
	reads func(V) []string
}

func (v value[V]) Rule(e EnvoyRule) bool         { return render(v.envoy.Rule, e, v.v) }
func (v value[V]) Listener(e EnvoyListener) bool { return render(v.envoy.Listener, e, v.v) }
func (v value[V]) Backend(e EnvoyBackend) bool   { return render(v.envoy.Backend, e, v.v) }
func (v value[V]) Shown() []byte                 { return must(json.Marshal(v.v)) }

func (v value[V]) Anew() Anew {
	if a, has := any(v.v).(interface{ Anew() Anew }); has {
		return a.Anew()
	}
	return AnewNever
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

func render[E, V any](by func(E, V), e E, v V) bool {
	if by != nil {
		by(e, v)
	}
	return by != nil
}

// Strict reads JSON; a field that is not known is an error.
func Strict(text []byte, into any) error {
	wrong, err := kjson.UnmarshalStrict(text, into)
	return errors.Join(append(wrong, err)...)
}

// typed reads a value that Shown wrote.
func typed[V any](shown []byte) (v V) {
	if err := json.Unmarshal(shown, &v); err != nil {
		panic(fmt.Sprintf("extend: a value that was written can't be read: %v", err))
	}
	return v
}

func allTyped[V any](shown []string) (all []V) {
	for _, text := range shown {
		all = append(all, typed[V]([]byte(text)))
	}
	return all
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprintf("extend: %v", err))
	}
	return b
}

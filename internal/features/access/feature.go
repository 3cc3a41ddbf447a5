package access

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// Value is what policies state at each level.
type Value struct {
	Levels []Level
	// PortOffset is from a listener's port to the one that proxies bind.
	PortOffset int32
	// Providers are the names of the providers of tokens that may be accepted, if some rule asks for tokens.
	Providers []string
}

// Level is what the policies of a level state: "gateway", "route".
type Level struct {
	Name     string
	Policies []Policy
}

// Policy is what one policy states.
type Policy struct {
	Name  string // "shop/readers"
	Rules []Rule
	// Open: without rules everything is allowed.
	Open   bool
	DryRun bool
	// Closed: it can't be served, so nothing that it could have governed is.
	Closed bool
	// Asked is whom to ask about the requests of the rules that allow.
	Asked *Server
	// AskedName is its name in words.
	AskedName string
	// Filters: answers to tools/list have no tools that the caller may not call.
	Filters bool
	// AsksOnly: that is all that the rules are for. They allow nothing, and requests that they don't take pass. Without
	// rules, everything is asked about.
	AsksOnly bool
}

// Feature is who may call what. It is all that an AccessPolicy states.
var Feature = extend.Feature[extend.Each, Value]{
	Kind: extend.AccessPolicy, Name: extend.Whole, Schema: schema, Levels: extend.AtRule | extend.AtRuleBackend,
	OnInvalid: extend.Keep, SkipHTTPSRedirect: true,
	Unmerged: &extend.Unmerged{Certificates: listCertificateFields, Harmless: statesDryRun, Refers: listReferences},
	Read:     readLevels, Renders: renders, Judge: judgeRequest, Sets: listIdentityHeaders,
	Agents: extend.Agents[Value]{Judge: judgeMessage, Decide: decideLevels, Grants: listGrants, Tools: listTools},
}

// listIdentityHeaders are the headers of the answers of the servers that policies ask.
func listIdentityHeaders(v Value) (h extend.IdentityHeaders) {
	for _, l := range v.Levels {
		for _, p := range l.Policies {
			if p.Asked != nil {
				by := extend.AttestedBy(*p.Asked)
				h.Only, h.Also = append(h.Only, by.Only...), append(h.Also, by.Also...)
			}
		}
	}
	return h
}

// readLevels takes what each policy states. A policy that can't be served closes its level.
func readLevels(r extend.Reader, s extend.Each) (v Value) {
	domain := r.Location().TrustDomain
	v.PortOffset = r.Location().PortOffset
	for _, l := range s.Levels {
		level, upstream := Level{Name: l.Level}, new(upstreamLimits)
		var readings []*specReader
		for _, stated := range l.Policies {
			p := Policy{Name: stated.Name}
			in := &specReader{
				r: r.Of(stated), namespace: stated.Namespace, trustDomain: domain, upstream: stated.Kind == XAccessPolicy.Name,
				dry: runsDry(stated),
			}
			spec, err := specOf(stated)
			if in.upstream {
				if why := upstream.checkPolicy(spec.ExternalAuth != nil); why != "" {
					in.r.RefuseAs("LimitPerTargetExceeded", why)
					continue
				}
			}
			if stated.Invalid {
				err = errors.New("it is not valid; see its other findings")
			}
			if err != nil {
				in.refuseField("", "%v", err)
			} else {
				p.AsksOnly = in.upstream && spec.ExternalAuth != nil
				p.DryRun, p.Open = spec.Mode == DryRun, in.upstream && len(spec.Rules) == 0 && !p.AsksOnly
				p.Filters = spec.ToolsList != Pass && !in.upstream
				if p.Asked = in.readSpec(&spec); p.Asked != nil {
					p.AskedName = p.Asked.Backend.Describe()
				}
			}
			switch p.Rules = spec.Rules; {
			case in.invalid && in.dry:
				continue
			case in.invalid:
				p = Policy{Name: p.Name, Closed: true}
			}
			if in.asksTokens {
				v.Providers = in.tokenProviders()
			}
			level.Policies, readings = append(level.Policies, p), append(readings, in)
		}
		level.warnOfSessions(readings)
		v.Levels = append(v.Levels, level)
	}
	return v
}

// listCertificateFields are the sources of a policy that are known by certificates.
func listCertificateFields(stated extend.EachPolicy) (fields []string) {
	spec, err := specOf(stated)
	if err != nil {
		return nil // which is told where it is read
	}
	for _, r := range spec.Rules {
		for i, s := range r.Sources {
			switch {
			case s.Type == ByJWT:
			case stated.Kind == XAccessPolicy.Name:
				fields = append(fields, fmt.Sprintf("rules[%s].source", r.Name))
			default:
				fields = append(fields, fmt.Sprintf("rules[%s].sources[%d]", r.Name, i))
			}
		}
	}
	return fields
}

// The limits of XAccessPolicies on one target, by their API. Those beyond have no effect, and are told so.
const (
	maxUpstreamPolicies = 5
	maxAskingPolicies   = 1
)

// upstreamLimits counts the XAccessPolicies of a level.
type upstreamLimits struct{ policies, asking int }

// checkPolicy tells whether a policy is one too many; "" if it is not.
func (l *upstreamLimits) checkPolicy(asks bool) string {
	if l.policies++; l.policies > maxUpstreamPolicies {
		return fmt.Sprintf("%d older XAccessPolicies have this target, and their API allows no more, so this policy is "+
			"ignored; merge some of them, or make this one an AccessPolicy", maxUpstreamPolicies)
	}
	if asks {
		l.asking++
	}
	if asks && l.asking > maxAskingPolicies {
		l.policies--
		return "an older XAccessPolicy of this target has action ExternalAuth, and their API allows one per target, so " +
			"this policy is ignored; make it an AccessPolicy with externalAuth"
	}
	return ""
}

// specOf is what a policy states, of either kind.
func specOf(stated extend.EachPolicy) (s Spec, err error) {
	if stated.Kind == XAccessPolicy.Name {
		return convertSpec(stated.Spec)
	}
	return s, extend.UnmarshalStrict(stated.Spec, &s)
}

// statesDryRun tells whether a policy states that it runs dry, whatever else it states.
func statesDryRun(spec map[string]any) bool { return spec["mode"] == string(DryRun) }

// runsDry tells whether a policy is harmless.
func runsDry(stated extend.EachPolicy) bool {
	var spec map[string]any
	return stated.Kind != XAccessPolicy.Name && json.Unmarshal(stated.Spec, &spec) == nil && statesDryRun(spec)
}

// specReader checks what one policy states, and makes IDs of its ServiceAccounts.
type specReader struct {
	r           extend.Reader
	namespace   string
	trustDomain string
	upstream    bool // it is an XAccessPolicy, which the upstream's schema has let pass
	dry         bool // it refuses nothing, even if it is wrong
	invalid     bool
	reason      string // of what is refused; "": Invalid
	asksTokens  bool   // it asks for tokens
}

func (in *specReader) refuseField(field, format string, args ...any) {
	in.invalid = true
	at := in.r
	if field != "" {
		at = at.Field(field)
	}
	until := "requests to the policy's targets are denied until this is fixed"
	if in.dry {
		until = "the policy has no effect until this is fixed"
	}
	at.RefuseAs(cmp.Or(in.reason, "Invalid"), fmt.Sprintf(format, args...)+"; "+until)
}

func (in *specReader) readSpec(s *Spec) *Server {
	oneOf(in, "mode", s.Mode, Enforce, DryRun)
	oneOf(in, "toolsList", s.ToolsList, Filter, Pass)
	seen := map[string]bool{}
	for i := range s.Rules {
		rule := &s.Rules[i]
		at := fmt.Sprintf("rules[%s]", rule.Name)
		if rule.Name == "" || seen[rule.Name] {
			in.refuseField(at, "the name is missing, or another rule has it; give each rule its own name")
		}
		seen[rule.Name] = true
		oneOf(in, at+".action", rule.Action, Allow, Deny)
		for j := range rule.Sources {
			in.readSource(fmt.Sprintf("%s.sources[%d]", at, j), &rule.Sources[j])
		}
		if rule.Authorization != nil {
			in.checkAuthorization(at+".authorization", rule.Authorization)
		}
	}
	return in.readServer(s)
}

// oneOf checks a field that has one of some values, or is not stated.
func oneOf[T ~string](in *specReader, field string, value T, values ...T) {
	for _, v := range append(values, "") {
		if v == value {
			return
		}
	}
	in.refuseField(field, "%q is none of %s", value, joinValues(values))
}

func joinValues[T ~string](values []T) string {
	var all []string
	for _, v := range values {
		all = append(all, string(v))
	}
	return strings.Join(all, ", ")
}

const spiffeScheme = "spiffe://"

// readSource checks a source. It makes SPIFFE IDs of a ServiceAccount or a trust domain.
func (in *specReader) readSource(at string, s *Source) {
	stated := map[SourceType]bool{
		ByServiceAccount: s.ServiceAccount != nil, BySPIFFE: s.SPIFFE != nil, ByTrustDomain: s.TrustDomain != "",
		ByJWT: s.JWT != nil,
	}
	oneOf(in, at+".type", s.Type, ByServiceAccount, BySPIFFE, ByTrustDomain, ByJWT)
	for _, t := range []SourceType{ByServiceAccount, BySPIFFE, ByTrustDomain, ByJWT} {
		if stated[t] != (t == s.Type) {
			in.refuseField(at, "its type is %s: state the field of that type, and no other one", s.Type)
			return
		}
	}
	switch s.Type {
	case ByServiceAccount:
		namespace := s.ServiceAccount.Namespace
		if namespace == "" {
			namespace = in.namespace
		}
		if in.trustDomain == "" {
			in.refuseField(at+".serviceAccount", "no trust domain is known; state --trust-domain")
		}
		s.SPIFFE = &TextMatch{Exact, fmt.Sprintf("%s%s/ns/%s/sa/%s", spiffeScheme, in.trustDomain, namespace,
			s.ServiceAccount.Name)}
	case ByTrustDomain:
		s.SPIFFE = &TextMatch{Prefix, spiffeScheme + s.TrustDomain + "/"}
	case BySPIFFE:
		if !strings.HasPrefix(s.SPIFFE.Value, spiffeScheme) || strings.ContainsAny(s.SPIFFE.Value, ", ") {
			in.refuseField(at+".spiffe.value", "%q is not a SPIFFE ID; write one that begins with %s",
				s.SPIFFE.Value, spiffeScheme)
		}
		in.checkText(at+".spiffe", *s.SPIFFE)
	case ByJWT:
		in.checkJWT(at+".jwt", *s.JWT)
	}
}

func (in *specReader) checkJWT(at string, j JWT) {
	if len(j.claimMatches()) == 0 {
		in.refuseField(at, "state issuer, audience, subject or claims")
	}
	for _, c := range j.Claims {
		in.refuseProblems(fmt.Sprintf("%s.claims[%s]", at, c.Name), extend.RequestMatch{RequestParts: extend.RequestParts{
			Claims: []extend.ClaimMatch{{Claim: c.Name, Type: extend.Exact, Values: c.Values}},
		}})
	}
	if in.asksTokens = true; len(in.tokenProviders()) == 0 {
		in.r.Field(at).Warn("no caller can match it: no SecurityPolicy states jwt.providers, so no token is accepted")
	}
}

// tokenProviders are those of tokens.
func (in *specReader) tokenProviders() []string {
	return in.r.Names(extend.SecurityPolicy, "jwt", "providers")
}

func (in *specReader) checkText(at string, m TextMatch) {
	oneOf(in, at+".type", m.Type, Exact, Prefix, Wildcard)
	if m.Type == Wildcard {
		in.refuseProblems(at+".value", extend.RequestMatch{RequestParts: extend.RequestParts{Headers: []extend.NamedMatch{{
			Name: "x", Type: extend.RegularExpression, Values: []string{m.toRegex()},
		}}}})
	}
}

// refuseProblems refuses what is wrong with a match; field is where it stands.
func (in *specReader) refuseProblems(field string, m extend.RequestMatch) {
	for _, p := range extend.ValidateMatch(m) {
		in.refuseField(field, "%s", p.Message)
	}
}

func (in *specReader) checkAuthorization(at string, a *Authorization) {
	oneOf(in, at+".type", a.Type, Inline, CEL)
	inline := len(a.Methods)+len(a.Paths)+len(a.Headers)+len(a.Hosts)+len(a.Ports) > 0 || a.MCP != nil
	switch {
	case a.Type == CEL && (a.CEL == nil || inline && !in.upstream):
		in.refuseField(at, "its type is CEL: state cel, and nothing else")
		return
	case a.Type == CEL:
		in.reason = "InvalidCEL"
		parts := extend.RequestParts{CEL: a.checkableCEL()}
		if len(extend.ValidateMatch(extend.RequestMatch{RequestParts: parts})) == 0 {
			parts.CEL = a.celExpression()
		}
		in.refuseProblems(at+".cel.expression", extend.RequestMatch{RequestParts: parts})
		in.reason = ""
		return
	case a.Type != Inline || a.CEL != nil:
		in.refuseField(at, "state type Inline, or type CEL with cel")
		return
	}
	if m := a.httpMatch(); m != nil {
		for _, p := range extend.ValidateMatch(*m) {
			in.refuseField(at+"."+p.Field, "%s", p.Message)
		}
	}
	if a.MCP == nil {
		return
	}
	oneOf(in, at+".mcp.mcpBaseProtocolMethodsOption", a.MCP.MCPBaseProtocolMethodsOption, SkipBase, MatchBase)
	for _, m := range a.MCP.Methods {
		in.checkMethod(fmt.Sprintf("%s.mcp.methods[%s]", at, m.Name), m)
	}
}

var (
	methodFamilies    = []string{"tools", "prompts", "resources"}
	methodsWithParams = []string{"prompts/get", "tools/call", "resources/subscribe", "resources/unsubscribe",
		"resources/read"}
	methodsWithoutParams = []string{"prompts/list", "tools/list", "resources/list", "resources/templates/list",
		"server/discover", "subscriptions/listen", "completion/complete"}
)

func (in *specReader) checkMethod(at string, m Method) {
	oneOf(in, at, m.Name, append(append(append([]string{}, methodFamilies...), methodsWithParams...),
		methodsWithoutParams...)...)
	if len(m.Params) > 0 && !slices.Contains(methodsWithParams, m.Name) {
		in.refuseField(at+".params", "only %s have params", joinValues(methodsWithParams))
	}
	for i, p := range m.Params {
		in.checkText(fmt.Sprintf("%s.params[%d]", at, i), p)
	}
	if len(m.Arguments) > 0 && m.Name != "tools/call" {
		in.refuseField(at+".arguments", "only tools/call has arguments")
	}
	for _, a := range m.Arguments {
		in.checkArgument(fmt.Sprintf("%s.arguments[%s]", at, a.Path), a)
	}
}

// maxArgumentValues is how many of an argument are compared.
const maxArgumentValues = 64

func (in *specReader) checkArgument(at string, a Argument) {
	if _, err := extend.ClaimPath(a.Path); err != nil {
		in.refuseField(at+".path", "%v", err)
	}
	n := 0
	for _, stated := range []bool{a.Exact != nil, len(a.OneOf) > 0, a.Prefix != "", a.Range != nil, a.Present} {
		if stated {
			n++
		}
	}
	if n != 1 {
		in.refuseField(at, "state one of exact, oneOf, prefix, range and present")
	}
	if len(a.OneOf) > maxArgumentValues {
		in.refuseField(at+".oneOf", "it has %d values, at most %d", len(a.OneOf), maxArgumentValues)
	}
	if a.Range == nil {
		return
	}
	if a.Range.Min == nil && a.Range.Max == nil {
		in.refuseField(at+".range", "state min or max")
	}
	for _, bound := range []*Scalar{a.Range.Min, a.Range.Max} {
		if bound == nil {
			continue
		}
		if _, is := bound.Value.(float64); !is {
			in.refuseField(at+".range", "%s is no number", bound)
			return
		}
	}
	if least, beyond := a.Range.floatBounds(); least >= beyond {
		in.refuseField(at+".range", "no number is at least %s and at most %s", a.Range.Min, a.Range.Max)
	}
}

// judgeMessage tells what becomes of requests that may be no messages of MCP. It does not know the body.
func judgeMessage(q extend.Request) []extend.Verdict {
	refused := extend.Verdict{Status: http.StatusBadRequest, At: string(extend.SlotMCP)}
	switch {
	case q.Agent != nil && q.Agent.Method != "":
		return nil
	case q.Method == http.MethodGet && strings.Contains(q.Header.Get("accept"), "text/event-stream"),
		q.Method == http.MethodDelete && q.Header.Get("mcp-session-id") != "":
		return nil
	case q.Method == http.MethodGet && q.Header.Get("accept") != "":
		refused.If = "it accepts a stream of events"
	case q.Method == http.MethodPost:
		refused.If = "its body is a message of MCP"
	}
	return []extend.Verdict{refused}
}

// judgeRequest tells what is certain without what the request says inside.
func judgeRequest(q extend.Request, v Value) (list []extend.Verdict) {
	c, known := callOf(q, v)
	for _, l := range v.Levels {
		if known && !l.isClosed() && !l.dependsOnToken(c) {
			if d := l.DecideCall(c); len(d.Unknown) == 0 {
				if !d.Allowed {
					return append(list, extend.Verdict{Status: forbiddenStatus, At: string(extend.SlotAuthz)})
				}
				list = append(list, l.serverVerdicts(func(name string) bool { return slices.Contains(d.Asked, name) })...)
				continue
			}
		}
		list = append(list, l.possibleVerdicts()...)
	}
	return list
}

func (l Level) possibleVerdicts() (list []extend.Verdict) {
	refused := extend.Verdict{Status: forbiddenStatus, At: string(extend.SlotAuthz)}
	if l.isClosed() {
		return []extend.Verdict{refused}
	}
	names := func(action Action) string {
		var all []string
		l.eachRule(false, action, func(p Policy, r Rule) { all = append(all, ruleName(p, r)) })
		return strings.Join(all, ", ")
	}
	if denied := names(Deny); denied != "" {
		v := refused
		v.RefusedIf = fmt.Sprintf("a rule denies it (on the %s: %s)", l.Name, denied)
		list = append(list, v)
	}
	if allowed := names(Allow); l.hasAllowList(false) {
		v := refused
		if allowed != "" {
			v.If = fmt.Sprintf("a rule allows it (on the %s: %s)", l.Name, allowed)
		}
		list = append(list, v)
	}
	return append(list, l.serverVerdicts(func(string) bool { return true })...)
}

// serverVerdicts are the verdicts of the servers of some policies.
func (l Level) serverVerdicts(of func(policy string) bool) (list []extend.Verdict) {
	for _, p := range l.Policies {
		if p.Asked != nil && !p.DryRun && of(p.Name) {
			list = append(list, extend.Verdict{
				Status: extend.AnyStatus, At: string(extend.SlotExtAuth),
				If: fmt.Sprintf("%s allows it, or is not asked about it (by %s)", p.AskedName, p.Name),
			})
		}
	}
	return list
}

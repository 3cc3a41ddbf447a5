package access

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/extend"
)

// Call is a request as policies read it.
type Call struct {
	Method, Path, Host string
	Port               int32 // of the listener
	Header             http.Header
	Caller             string         // the one URI of the client's valid certificate; "": it has none, or several
	Claims             map[string]any // of the accepted token, as encoding/json reads them; nil: there is none
	Server             bool           // it goes to an MCP server
	Message            *Message
}

// Message is what an agent asks for.
type Message struct {
	Method    string
	Name, URI string         // of params; "": there is none
	Arguments map[string]any // as encoding/json reads them
	Reply     bool           // it answers a request of the server, and has no method
}

// Decision is what a level says of a call.
type Decision struct {
	Allowed bool
	// Rule decided: "NAMESPACE/POLICY/RULE". "": no rule allows it, or nothing is stated.
	Rule string
	// Unknown are rules that the decision depends on, with expressions that ask for more than is known of the call.
	Unknown []string
	// Asked are the policies that ask a server, which must agree. If it is not known whether an expression holds, its
	// policy is among them.
	Asked []string
}

// DecideCall reads what the policies of a level say of a call, by what they state and not by what is rendered of them.
// Policies in mode DryRun do not count.
func (l Level) DecideCall(c Call) Decision {
	if l.isClosed() {
		return Decision{}
	}
	d := Decision{Asked: l.askingPolicies(c)}
	var denies, allows []string // rules that may or may not take the call
	l.eachRule(false, Deny, func(p Policy, r Rule) {
		if d.Rule != "" || !r.matchesCall(c, true) {
			return
		}
		switch is, known := r.evaluateCEL(c, true); {
		case !known:
			denies = append(denies, ruleName(p, r))
		case is:
			d.Rule = ruleName(p, r)
		}
	})
	if d.Rule != "" {
		return d
	}
	if !l.hasAllowList(false) || slices.ContainsFunc(l.Policies, func(p Policy) bool { return p.Open && !p.DryRun }) {
		d.Allowed, d.Unknown = true, denies
		return d
	}
	l.eachRule(false, Allow, func(p Policy, r Rule) {
		if d.Allowed || !r.matchesCall(c, false) {
			return
		}
		switch is, known := r.evaluateCEL(c, false); {
		case !known:
			allows = append(allows, ruleName(p, r))
		case is:
			d.Allowed, d.Rule = true, ruleName(p, r)
		}
	})
	switch {
	case d.Allowed:
		d.Unknown = denies
	case len(allows) > 0:
		d.Unknown = append(denies, allows...)
	}
	return d
}

// evaluateCEL tells whether the expression of a rule takes a call; doubt: one that can't be evaluated does. known is
// false if that depends on more than what is known of the call.
func (r Rule) evaluateCEL(c Call, doubt bool) (takes, known bool) {
	expression := r.Authorization.celExpression()
	if expression == "" {
		return true, true
	}
	asked := strings.Count(expression, "filter_metadata")
	for _, path := range []string{"['method']", "['params']['name']", "['params']['uri']"} {
		asked -= strings.Count(expression, "metadata.filter_metadata['"+mcpNamespace+"']"+path)
	}
	if asked != 0 { // for more of messages than is known here
		return false, false
	}
	switch is, err := extend.EvaluateCEL(expression, c.celAttributes()); {
	case err != nil:
		return doubt, true
	case is == extend.Unknown:
		return false, false
	default:
		return is == extend.Certainly, true
	}
}

// celAttributes are those that expressions can ask for and that are known of a call.
func (c Call) celAttributes() map[string]any {
	urlPath, query, _ := strings.Cut(c.Path, "?")
	metadata := map[string]any{}
	if m := c.Message; c.Server && m != nil {
		message, params := map[string]any{"method": m.Method}, map[string]any{}
		switch m.Method { // the parser has these params only
		case "tools/call", "prompts/get":
			params["name"] = m.Name
		case "resources/read", "resources/subscribe":
			params["uri"] = m.URI
		}
		for name, value := range params {
			if value == "" {
				delete(params, name)
			}
		}
		if len(params) > 0 {
			message["params"] = params
		}
		metadata[mcpNamespace] = message
	}
	known := map[string]any{"metadata.filter_metadata": metadata}
	if c.Path != "" {
		maps.Copy(known, map[string]any{
			"request.path": c.Path, "request.url_path": urlPath, "request.query": query, "request.host": c.Host,
			"request.method": c.Method,
		})
	}
	if c.Caller != "" {
		known["connection.uri_san_peer_certificate"] = c.Caller
	}
	return known
}

// askingPolicies are the policies that ask their server about a call.
func (l Level) askingPolicies(c Call) (list []string) {
	for _, p := range l.Policies {
		if p.Asked == nil || p.DryRun {
			continue
		}
		meant := func(r Rule) bool {
			is, known := r.evaluateCEL(c, true)
			return r.Action != Deny && r.matchesCall(c, true) && (is || !known)
		}
		if len(p.Rules) == 0 || slices.ContainsFunc(p.Rules, meant) {
			list = append(list, p.Name)
		}
	}
	return list
}

// matchesCall tells whether a call is one of the rule, but for its expression; doubt: what can't be told is taken.
func (r Rule) matchesCall(c Call, doubt bool) bool { return len(r.listMismatches(c, doubt)) == 0 }

// mismatch is why a rule does not take a call.
type mismatch struct {
	byCaller     bool // others call
	otherMessage bool // it is about other messages
	why          string
}

// listMismatches are all of them.
func (r Rule) listMismatches(c Call, doubt bool) (list []mismatch) {
	if len(r.Sources) > 0 && !slices.ContainsFunc(r.Sources, func(s Source) bool { return s.matchesCall(c) }) {
		list = append(list, mismatch{byCaller: true, why: "it is for " + r.describeCallers()})
	}
	a := r.Authorization
	if a == nil {
		return list
	}
	of := func(what string, n int, takes func(i int) bool, words func(i int) string) {
		var all []string
		for i := range n {
			if takes(i) {
				return
			}
			all = append(all, words(i))
		}
		if n > 0 {
			list = append(list, mismatch{why: what + " " + strings.Join(all, " or ")})
		}
	}
	of("the method is not", len(a.Methods), func(i int) bool { return a.Methods[i] == c.Method },
		func(i int) string { return a.Methods[i] })
	of("the host is not", len(a.Hosts), func(i int) bool { return hostMatches(a.Hosts[i], c.Host) },
		func(i int) string { return a.Hosts[i] })
	of("the port is not", len(a.Ports), func(i int) bool { return a.Ports[i] == c.Port },
		func(i int) string { return strconv.Itoa(int(a.Ports[i])) })
	of("the path is not", len(a.Paths), func(i int) bool { return a.Paths[i].matchesPath(c.Path) },
		func(i int) string { return a.Paths[i].Value })
	for _, h := range a.Headers {
		if !h.matchesRequest(c.Header) {
			list = append(list, mismatch{why: fmt.Sprintf("the header %s is not %s", h.Name, h.Value)})
		}
	}
	if a.MCP != nil && !a.MCP.matchesCall(c, doubt) {
		list = append(list, a.MCP.findMismatch(c, doubt))
	}
	return list
}

func (s Source) matchesCall(c Call) bool {
	if s.JWT != nil {
		return c.Claims != nil && !slices.ContainsFunc(s.JWT.claimMatches(), func(m extend.ClaimMatch) bool {
			return !hasClaim(c.Claims, m)
		})
	}
	return s.SPIFFE != nil && c.Caller != "" && s.SPIFFE.matchesString(c.Caller)
}

// hasClaim tells whether a claim is one of some values, or has one of them.
func hasClaim(claims map[string]any, m extend.ClaimMatch) bool {
	names, _ := extend.ClaimPath(m.Claim)
	var value any = claims
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	is := func(value any) bool {
		switch v := value.(type) {
		case string:
			return slices.Contains(m.Values, v)
		case bool:
			return slices.Contains(m.Values, strconv.FormatBool(v))
		case float64:
			return slices.ContainsFunc(m.Values, func(text string) bool {
				number, err := strconv.ParseFloat(text, 64)
				return err == nil && number == v
			})
		}
		return false
	}
	if list, isList := value.([]any); isList {
		return slices.ContainsFunc(list, is)
	}
	return is(value)
}

func (m TextMatch) matchesString(text string) bool {
	switch m.Type {
	case Prefix:
		return strings.HasPrefix(text, m.Value)
	case Wildcard:
		return matchesWhole(m.toRegex(), text)
	}
	return text == m.Value
}

func matchesWhole(expr, text string) bool {
	re, err := regexp.Compile("^(?:" + expr + ")$")
	return err == nil && re.MatchString(text)
}

func hostMatches(pattern, host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if suffix, wildcard := strings.CutPrefix(pattern, "*"); wildcard {
		return strings.HasSuffix(host, suffix) && len(host) > len(suffix)
	}
	return host == pattern
}

func (p Path) matchesPath(of string) bool {
	of, _, _ = strings.Cut(of, "?")
	switch extend.PathMatchType(p.Type) {
	case extend.PathExact:
		return of == p.Value
	case extend.PathRegularExpression:
		return matchesWhole(p.Value, of)
	}
	prefix := strings.TrimRight(p.Value, "/")
	return prefix == "" || of == prefix || strings.HasPrefix(of, prefix+"/")
}

func (h Header) matchesRequest(of http.Header) bool {
	return slices.ContainsFunc(of.Values(h.Name), func(v string) bool {
		if h.Type == extend.RegularExpression {
			return matchesWhole(h.Value, v)
		}
		return v == h.Value
	})
}

func (m MCP) matchesCall(c Call, doubt bool) bool {
	if !c.Server {
		return false
	}
	if m.MCPBaseProtocolMethodsOption == MatchBase && matchesBaseProtocol(c) {
		return true
	}
	return c.Message != nil && slices.ContainsFunc(m.Methods, func(method Method) bool {
		return method.matchesMessage(*c.Message, doubt)
	})
}

func matchesBaseProtocol(c Call) bool {
	m := c.Message
	switch {
	case c.Method == http.MethodGet, c.Method == http.MethodDelete && c.Header.Get("mcp-session-id") != "":
		return true
	case m == nil:
		return false
	case m.Reply:
		return true
	}
	family, _ := path.Split(m.Method)
	return slices.Contains(baseMethods, m.Method) || slices.Contains(baseFamilies, family)
}

func (m Method) matchesMessage(message Message, doubt bool) bool {
	if !strings.Contains(m.Name, "/") {
		return strings.HasPrefix(message.Method, m.Name+"/")
	}
	if message.Method != m.Name {
		return false
	}
	text := message.Name
	if strings.HasPrefix(m.Name, "resources/") {
		text = message.URI
	}
	named := func(p TextMatch) bool { return text != "" && p.matchesString(text) }
	if len(m.Params) > 0 && !slices.ContainsFunc(m.Params, named) {
		return false
	}
	return !slices.ContainsFunc(m.Arguments, func(a Argument) bool {
		return !a.matchesArguments(message.Arguments,
			doubt)
	})
}

// matchesArguments tells whether an argument is one that is asked for. In doubt are those of other types, and what the
// proxy does not see.
func (a Argument) matchesArguments(arguments map[string]any, doubt bool) bool {
	names, _ := extend.ClaimPath(a.Path)
	var value any = arguments
	for _, name := range names {
		object, is := value.(map[string]any)
		if value, is = object[name]; !is {
			return doubt
		}
	}
	if a.Present {
		switch value.(type) {
		case []any:
			return doubt
		}
		return true
	}
	comparable := false
	compare := func(equal, sameType bool) bool {
		comparable = comparable || sameType
		return equal
	}
	matches := slices.ContainsFunc(a.exactValues(), func(s Scalar) bool {
		switch of := value.(type) {
		case string:
			_, is := s.Value.(string)
			return compare(s.Value == of, is)
		case float64:
			_, is := s.Value.(float64)
			return compare(s.Value == of, is)
		case bool:
			_, is := s.Value.(bool)
			return compare(s.Value == of, is)
		}
		return false
	})
	switch of := value.(type) {
	case string:
		if a.Prefix != "" {
			matches, comparable = strings.HasPrefix(of, a.Prefix), true
		}
	case float64:
		if a.Range != nil {
			least, beyond := a.Range.floatBounds()
			matches, comparable = of >= least && of < beyond, true
		}
	}
	return matches || doubt && !comparable
}

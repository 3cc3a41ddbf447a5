package envoy

import (
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// simulation joins an excerpt of a configuration, which package simulate evaluates as an Envoy would, with what the
// excerpt's parts were made of. Only here names in the configuration meet the keys that they were made of; that is by
// making the names of the parts' keys once more, never by reading a name.
type simulation struct {
	config  *simulate.Config
	excerpt *resource.Excerpt
	rules   map[*resource.Part]map[string]resource.Origin // of virtual hosts that were asked for, by the names of routes
}

// newSimulation makes an excerpt ready to be asked.
func newSimulation(of *resource.Excerpt, gates request.Gates) (request.Simulation, error) {
	s := simulation{simulate.New(), of, map[*resource.Part]map[string]resource.Origin{}}
	s.config.Gates = GatesByRoute(gates)
	for name, parts := range of.Offered {
		if err := s.config.Add(name.Type, name.Name, resource.Resource{Parts: parts}.AppendBytes(nil)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// GatesByRoute finds gates by the names of routes.
func GatesByRoute(gates request.Gates) func(route string, key request.GateKey) (request.Gate, bool) {
	rules := map[string]model.RuleKey{} // those that have gates of their own
	for rule := range gates.Rules {
		rules[naming.Rule(rule)] = rule
	}
	return func(route string, key request.GateKey) (request.Gate, bool) { return gates.FindGate(rules[route], key) }
}

// SimulateRequest implements request.Simulation.
func (s simulation) SimulateRequest(r request.Request) request.Result {
	did := s.config.SimulateRequest(r)
	table := resource.Name{Type: xdstypes.Routes, Name: did.Table}
	result := convertResult(did)
	result.Table, result.Part, result.Domain = table, did.VirtualHost, did.VirtualHost
	if chain := s.findChain(did); chain != nil && len(chain.Fragments) > 0 {
		result.Listener = chain.Fragments[0].Origin.ListenerKey()
		result.Certificates = s.certificatesOf(chain)
	}
	for _, o := range did.Outcomes {
		result.Outcomes = append(result.Outcomes, s.convertOutcome(o, s.rulesOf(table, did.VirtualHost)))
	}
	return result
}

// convertResult is what a result tells without names.
func convertResult(did simulate.Result) request.Result {
	return request.Result{
		Closed: did.Closed, Refused: did.Refused, NotSimulated: did.NotSimulated, Undecided: did.Undecided,
		Mismatch: did.Mismatch, SourceRanges: did.SourceRanges,
	}
}

// SimulateConnection implements request.Simulation.
func (s simulation) SimulateConnection(n request.Connection) request.Result {
	did := s.config.SimulateConnection(n)
	result := convertResult(did)
	if did.Mismatch {
		return result
	}
	result.Listener, result.Domain = s.findConnectionDomain(did)
	if chain := s.findChain(did); chain != nil {
		result.Certificates = s.certificatesOf(chain)
	}
	result.Table = resource.Name{Type: xdstypes.Extension, Name: did.SharedBy}
	result.Part = connectionPartID
	if n.Datagrams {
		result.Table.Type, result.Part = xdstypes.Endpoints, ""
	}
	sharing := s.excerpt.Offered[result.Table]
	var rule model.RuleKey
	if part := resource.FindPart(sharing, result.Part); part != nil && len(part.Fragments) > 0 {
		rule = part.Fragments[0].Origin.RuleKey()
	}
	for _, o := range did.Outcomes {
		out := request.Outcome{Rule: rule, Effect: o.Effect}
		known := false
		if n.Datagrams {
			if part := resource.FindPart(sharing, o.Locality); part != nil && len(part.Fragments) > 0 {
				out.Backend, known = part.Fragments[0].BackendKey(), true
			}
		} else {
			out.Backend, known = s.findBackend(o.Cluster)
		}
		if !known { // what takes its share is no backend
			out.Unresolved, out.Endpoints, out.Closed = true, nil, "they can't be used"
		}
		result.Outcomes = append(result.Outcomes, out)
	}
	return result
}

// findConnectionDomain is the listener that takes a connection, and its domain; zero if none does.
func (s simulation) findConnectionDomain(did simulate.Result) (k model.ListenerKey, domain string) {
	if chain := s.findChain(did); chain != nil {
		if len(chain.Fragments) > 0 {
			k, domain = chain.Fragments[0].Origin.ListenerKey(), chain.Fragments[0].Variant
		}
		return k, domain
	}
	shared := resource.FindPart(s.excerpt.Offered[resource.Name{Type: xdstypes.Listener, Name: did.Listener}], "")
	if shared == nil {
		return k, ""
	}
	for _, f := range shared.Fragments {
		if f.Origin.Section != "" && !f.Setting { // the port's only listener; first stands its Gateway
			return f.Origin.ListenerKey(), model.EveryHost
		}
	}
	return k, ""
}

// CompareRoutes implements request.Simulation.
func (s simulation) CompareRoutes(r request.Request) (list []request.RouteComparison) {
	tried, did := s.config.CompareRoutes(r)
	rules := s.rulesOf(resource.Name{Type: xdstypes.Routes, Name: did.Table}, did.VirtualHost)
	for _, t := range tried {
		list = append(list, request.RouteComparison{
			Rule: rules[t.Route].RuleKey(), Match: renderedMatch{t.Match}, Mismatches: t.Mismatches,
		})
	}
	return list
}

// ListRoutes implements request.Simulation.
func (s simulation) ListRoutes(table resource.Name, domain string) (list []request.Route) {
	rules := s.rulesOf(table, domain)
	for _, r := range s.config.ListRoutes(table.Name, domain) {
		list = append(list, request.Route{
			Rule: rules[r.Name].RuleKey(), Match: renderedMatch{r.Match}, Content: r.Content, Around: r.Around,
			Stimuli: r.Stimuli,
		})
	}
	return list
}

// EntryRequests implements request.Simulation.
func (s simulation) EntryRequests(table resource.Name) []request.Request {
	return s.config.EntryRequests(table.Name)
}

// findChain is the part of a listener that has the filter chain of a connection; nil if all connections share one. A
// part may have several chains (dividedChainPart): it claims the names of all.
func (s simulation) findChain(did simulate.Result) *resource.Part {
	if did.Chain == "" {
		return nil
	}
	parts := s.excerpt.Offered[resource.Name{Type: xdstypes.Listener, Name: did.Listener}]
	if part := resource.FindPart(parts, chainPrefix+did.Chain); part != nil {
		return part
	}
	i := slices.IndexFunc(parts, func(p *resource.Part) bool {
		return strings.HasPrefix(p.ID, chainPrefix) && slices.Contains(p.Claims, did.ServerName)
	})
	if i < 0 {
		return nil
	}
	return parts[i]
}

// certificatesOf are the Secrets that a filter chain needs.
func (s simulation) certificatesOf(chain *resource.Part) (list []model.ObjectRef) {
	for _, need := range chain.Needs {
		secret, found := s.findFragment(need)
		if found && need.Type == xdstypes.Secret && secret.Origin.Object.Kind() == model.KindSecret {
			list = append(list, secret.Origin.Object)
		}
	}
	return list
}

// findFragment is the fragment that a resource of one fragment was made of, whether it is offered or withheld; false if
// there is no such resource.
func (s simulation) findFragment(name resource.Name) (resource.Fragment, bool) {
	for _, parts := range [][]*resource.Part{s.excerpt.Offered[name], s.excerpt.Withheld[name]} {
		if len(parts) > 0 && len(parts[0].Fragments) > 0 {
			return parts[0].Fragments[0], true
		}
	}
	return resource.Fragment{}, false
}

// rulesOf are the rules of a virtual host, by the names of their routes.
func (s simulation) rulesOf(table resource.Name, domain string) map[string]resource.Origin {
	part := resource.FindPart(s.excerpt.Offered[table], domain)
	if part == nil || domain == "" {
		return nil
	}
	rules, known := s.rules[part]
	if !known {
		rules = naming.RulesByName(part)
		s.rules[part] = rules
	}
	return rules
}

func (s simulation) convertOutcome(o simulate.Outcome, rules map[string]resource.Origin) request.Outcome {
	out := request.Outcome{Rule: rules[o.Route].RuleKey(), Effect: o.Effect}
	if o.Match != nil {
		out.Match = renderedMatch{o.Match}
	}
	if o.Cluster != "" {
		cluster, found := s.findBackend(o.Cluster)
		out.Backend, out.Unresolved = cluster, !found
	}
	for _, m := range o.Mirrors {
		to, _ := s.findBackend(m.Cluster)
		out.Mirrors = append(out.Mirrors, request.Mirror{Backend: to, Share: m.Share})
	}
	return out
}

// findBackend is the backend that a cluster was made of; false if there is no such cluster.
func (s simulation) findBackend(cluster string) (model.BackendKey, bool) {
	f, found := s.findFragment(resource.Name{Type: xdstypes.Cluster, Name: cluster})
	return f.BackendKey(), found
}

// renderedMatch is the match of a route as it was rendered.
type renderedMatch struct{ match *routev3.RouteMatch }

// Describe implements request.Match.
func (m renderedMatch) Describe() request.Phrase { return simulate.DescribeMatch(m.match) }

// IndexIn implements request.Match.
func (m renderedMatch) IndexIn(r model.Rule) int {
	index, _ := route.MatchIndex(r, m.match)
	return index
}

// IsPreflight implements request.Match.
func (m renderedMatch) IsPreflight(r model.Rule) bool {
	_, is := route.MatchIndex(r, m.match)
	return is
}

// ComparesHost implements request.Match.
func (m renderedMatch) ComparesHost() bool { return simulate.ComparesHost(m.match) }

// Witnesses implements request.Match.
func (m renderedMatch) Witnesses(from request.Request, domain string) []request.Request {
	return simulate.Witnesses(from, domain, m.match)
}

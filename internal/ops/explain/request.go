package explain

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// ExplainRequest tells the way of a request, or of a connection.
func (e *Explainer) ExplainRequest(question Question) (story Story, err error) {
	c, err := question.parseRequest()
	if err != nil {
		return Story{}, err
	}
	r := &requestQuestion{parsedRequest: c, gatewayName: question.Gateway}
	err = e.answerQuestion(r)
	for i := range r.story.Rules {
		e.addProxies(&r.story.Rules[i].Live, r.story.Rules[i].table)
	}
	for i := range r.story.Outcomes {
		e.addConnections(&r.story.Outcomes[i])
	}
	if !c.isConnection() {
		e.addPicks(r.story.Outcomes, c.Request, question.Body)
	}
	return r.story, err
}

// requestQuestion is the question about a request.
type requestQuestion struct {
	parsedRequest
	gatewayName string // "": any
	candidates  []*gatewayCandidate
	chosen      *gatewayCandidate // nil: there is none
	story       Story
}

func (r *requestQuestion) gatherRefs(q *inquiry) {
	r.candidates, r.chosen = q.findCandidates(r.parsedRequest, r.gatewayName), nil
}

func (r *requestQuestion) doSlowWork() (err error) {
	if len(r.candidates) > 0 {
		r.chosen, err = chooseCandidate(r.candidates, r.parsedRequest)
	}
	return err
}

func (r *requestQuestion) stillHolds(q *inquiry) bool {
	return equalCandidates(r.candidates, q.findCandidates(r.parsedRequest, r.gatewayName))
}

func (r *requestQuestion) writeStory(q *inquiry) {
	r.story = q.tellRequest(r.parsedRequest, r.gatewayName, r.candidates, r.chosen)
}

func (q *inquiry) tellRequest(c parsedRequest, gateway string, ways []*gatewayCandidate, w *gatewayCandidate) Story {
	story := Story{Request: c.text, Offline: q.config.Offline, Unasked: q.config.Unasked}
	if c.isConnection() {
		story.Connection = c.scheme
	}
	if q.config.Notes != nil {
		story.Notes = q.config.Notes()
	}
	if w == nil {
		story.Closed = "no listener has " + portWords(c.port, c.transport())
		if gateway != "" {
			story.Closed = fmt.Sprintf("no Gateway %s has a listener at %s", gateway, portWords(c.port, c.transport()))
		}
		if others := q.otherTransports(c, gateway); len(others) > 0 {
			story.Notes = append(story.Notes, others...)
		} else if idle := q.explainIdlePort(c.port, gateway); len(idle) > 0 {
			story.Closed = "no listener that can serve has " + portWords(c.port, c.transport())
			story.Notes = append(story.Notes, idle...)
		}
		story.Notes = append(story.Notes, q.portsThere()...)
		return story
	}
	story.Notes = append(story.Notes, noteOtherGateways(ways, w)...)
	c.Port = uint32(w.port.BindPort)
	story.Gateway, story.Port = w.port.Key.Gateway.NamespacedName(), w.port.Key.Number
	if q.world.HasOtherDataPlanes(q.view) {
		story.DataPlane = w.dialect.Name.Name
	}
	story.Bound = net.JoinHostPort(w.port.Addresses[0], strconv.Itoa(int(w.port.BindPort)))
	story.Host, story.Closed, story.Refused = w.result.Domain, w.result.Closed, w.result.Refused
	story.NotSimulated, story.Undecided = w.result.NotSimulated, w.result.Undecided
	if len(w.result.SourceRanges) > 0 {
		story.Notes = append(story.Notes, "this is for a client whose connections are taken: --client states an address")
	}
	listener, found := w.takingListener()
	if !found {
		listener, found = listenerOf(w.port, c)
	}
	stated, _ := flow.Get(q.view, q.world.Plan.Listeners, listener.Key)
	if !found && c.scheme == schemeTCP { // without a server name it is no listener's, or any's
		stated, _ = flow.Get(q.view, q.world.Plan.Listeners, w.port.Listeners[0].Key)
	}
	story.Mismatch = c.explainMismatch(stated)
	if c.isConnection() && story.Closed != "" && story.Mismatch == "" {
		story.Closed = q.explainClosed(c, w.port.Key.Gateway, listener, found, story.Closed)
	}
	if c.scheme == schemeTLS && stated.Protocol == model.TCP {
		story.Notes = append(story.Notes, fmt.Sprintf("listener %s has the protocol TCP: it reads no server name",
			listener.Key.Describe(w.port.Key.Gateway)))
	}
	if found {
		story.Listener = listener.Key.Describe(w.port.Key.Gateway)
		if why := q.explainClosing(listener.Key); story.Closed != "" && why != "" {
			story.Closed = why
		}
		origin := resource.Origin{Object: listener.Key.Parent, Section: listener.Key.Section}
		standing, _ := flow.Get(q.view, q.world.Outputs.Listeners,
			resource.AckStateKey{Gateway: w.port.Key.Gateway, Origin: origin})
		if standing.Refused != "" {
			note := fmt.Sprintf("the proxy refused listener %s: %s", story.Listener, standing.Refused)
			if q.keepsListener(w, origin) {
				note += keptText
			}
			story.Notes = append(story.Notes, note)
		} else {
			story.Notes = append(story.Notes, q.explainListener(listener.Key.Parent, listener.Key.Section, listener.Serves)...)
			story.Notes = append(story.Notes, q.clientsOf(listener.Key)...)
		}
	}
	for _, o := range w.result.Outcomes {
		out := q.describeOutcome(c, o)
		if o.Backend != (model.BackendKey{}) {
			key := plan.BackendKey{Gateway: w.port.Key.Gateway, Backend: o.Backend}
			out.backend = w.dialect.BackendResource(key)
			out.Filters = append(out.Filters, q.policyOf(key)...)
			if picker, own := q.describePicker(key); picker != "" && o.Status == 0 {
				out.Filters = append(out.Filters, picker)
				if own {
					out.pool = key.Backend.Object
				}
			}
			if standby := q.describeStandby(o); standby != "" {
				out.Filters = append(out.Filters, standby)
			}
			out.Policies = q.backendPolicies(key)
		}
		story.Outcomes = append(story.Outcomes, out)
		if rule, ok := q.explainRule(c, w, o, listener.Key); ok && !slices.ContainsFunc(story.Rules,
			func(r Rule) bool { return r.Object == rule.Object && r.Rule == rule.Rule }) {
			story.Rules = append(story.Rules, rule)
			if c.Agent != nil { // what is decided is told in place of what is stated
				story.Decisions = append(story.Decisions, q.decideAccess(w, o, listener.Key, c)...)
				story.Rules[len(story.Rules)-1].Policies = nil
			}
		}
	}
	if story.hasNoRule() && !c.isConnection() && story.Mismatch == "" &&
		q.world.Policies.StatesForRules(q.policySnapshot(), w.port.Key.Gateway, listener.Key) {
		story.Notes = append(story.Notes, "no rule matches it, so no policy for requests applies: no error pages, "+
			"headers, limits, access rules")
	}
	concerned := []string{w.port.Key.Gateway.String()}
	for _, r := range story.Rules {
		concerned = append(concerned, r.Object)
	}
	story.Panics = q.findPanics(concerned...)
	switch {
	case story.Mismatch != "":
	case c.isConnection():
		story.Near = q.findNearRoutes(w, listener, c)
	default:
		story.Near = q.findNearMisses(w, listener)
	}
	story.Notes = append(story.Notes, w.hosts...)
	return story
}

// portsThere tells which ports the Gateways have, a line for each port.
func (q *inquiry) portsThere() (notes []string) {
	type place struct {
		number    int32
		transport model.Transport
	}
	of := map[place][]string{}
	for _, p := range flow.All(q.view, q.world.Plan.Ports) {
		at := place{p.Key.Number, p.Key.Transport}
		of[at] = append(of[at], p.Key.Gateway.NamespacedName())
	}
	ports := slices.SortedFunc(maps.Keys(of), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.transport, b.transport))
	})
	for _, at := range ports[:min(maxNear, len(ports))] {
		slices.Sort(of[at])
		notes = append(notes, fmt.Sprintf("%s %s", nameGateways(of[at]), portWords(at.number, at.transport)))
	}
	if more := len(ports) - maxNear; more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more ports", more))
	}
	return notes
}

// noteOtherGateways tells which Gateways have the port, too, and how many of those that might take the request were not
// asked.
func noteOtherGateways(ways []*gatewayCandidate, chosen *gatewayCandidate) (notes []string) {
	var names []string
	unasked := 0
	for _, other := range ways {
		if other == chosen {
			continue
		}
		names = append(names, other.port.Key.Gateway.NamespacedName())
		if other.parts == nil && other.rank <= hasHost {
			unasked++
		}
	}
	if len(names) == 0 {
		return nil
	}
	note := nameGateways(names) + " this port, too: --gateway chooses"
	if unasked > 0 && !chosen.takesRequest() {
		note += fmt.Sprintf("; %d of the Gateways with this host were not asked", unasked)
	}
	return []string{note}
}

// nameGateways names Gateways, a few of them: "Gateway a/b has", "Gateways a/b, a/c and 3 more have".
func nameGateways(names []string) string {
	if len(names) == 1 {
		return "Gateway " + names[0] + " has"
	}
	shown := names[:min(maxNear, len(names))]
	text := "Gateways " + strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + " have"
}

// listenerOf is the listener of a port that a request belongs to: the most specific one, whether it can serve or not.
func listenerOf(port model.Port, c parsedRequest) (found model.PortListener, ok bool) {
	host := c.normalizedHost()
	if c.TLS && c.SNI != "" {
		host = strings.TrimSuffix(strings.ToLower(c.SNI), ".")
	}
	for _, l := range port.Listeners {
		if model.DomainCovers(model.HostnameDomain(l.Hostname), host) && (!ok || model.MoreSpecific(l.Hostname,
			found.Hostname)) {
			found, ok = l, true
		}
	}
	return found, ok
}

// explainRule is the rule of an outcome, and what became of it; false if none took the request.
func (q *inquiry) explainRule(
	c parsedRequest, w *gatewayCandidate, o request.Outcome, listener model.ListenerKey,
) (Rule, bool) {
	key := o.Rule
	if key == (model.RuleKey{}) {
		return Rule{}, false
	}
	table := resource.Key{Gateway: w.port.Key.Gateway, Type: w.result.Table.Type, Name: w.result.Table.Name}
	r := Rule{Object: key.Route.String(), Rule: key.Name, Live: q.newLive(table.Gateway), table: table}
	origin := resource.Origin{Object: key.Route, Section: key.Name}
	if instead, _ := q.offeredInstead(table); instead != nil {
		if f, kept := findFragment(*instead, w.result.Part, origin); kept {
			r.Live, r.Live.Kept = q.findLive(table, w.result.Part, f), true
		}
	}
	place, found := q.findRule(key)
	if c.isConnection() {
		r.Policies = q.connectionPolicies(listener)
		r.Match, r.Where = c.describeTaken(w.result.Domain), q.locate(key.Route, place.rule.FieldPath())
	} else {
		r.Policies = q.listPolicies(w.port.Key.Gateway, listener, key)
	}
	for i := range place.rule.Backends {
		for _, p := range q.world.Policies.PiecesAtRef(q.policySnapshot(), listener, key, i) {
			r.Policies = append(r.Policies, q.describeFeature(p)...)
		}
	}
	switch {
	case !found && c.isConnection(): // it was kept
		r.Where = q.locate(key.Route, "")
		return r, true
	case !found:
		r.Match, r.Where = o.Match.Describe().String(), q.locate(key.Route, "")
		return r, true
	case !c.isConnection():
		at := o.Match.IndexIn(place.rule)
		r.Match, r.Where = describeMatch(place.rule, at, o.Match), q.locate(key.Route, matchField(place.rule, at))
	}
	rendered, _ := q.findRendered(table)
	if f, found := findFragment(rendered, w.result.Part, origin); found {
		r.Live = q.findLive(table, w.result.Part, f)
	}
	q.refusedBackend(&r.Live, w, key, w.result.Outcomes)
	r.Edit, r.LastEdit = q.broughtBy(key)
	for _, f := range place.route.Findings {
		if f.Section == key.Name {
			r.Findings = append(r.Findings, f.Describe())
		}
	}
	for _, f := range q.world.Policies.ForgeableFindingsAt(q.policySnapshot(), key.Route, place.route, listener) {
		if f.Section == key.Name {
			r.Findings = append(r.Findings, fmt.Sprintf("%s%s", place.rule.FieldPath(), f.Describe()))
		}
	}
	return r, true
}

// broughtBy is the edit of its object that brought a rule as it is, or else, if that is not known, the last one of the
// object.
func (q *inquiry) broughtBy(rule model.RuleKey) (edit, last *Edit) {
	meta, read, found := q.findMeta(rule.Route)
	if !found {
		return nil, nil
	}
	if createsObject(meta) {
		return editOf(meta), nil
	}
	if edit, known := q.history.editThatBrought(rule.Route, read, q.world.Outputs.RuleChanged(q.view, rule)); known {
		return edit, nil
	}
	return nil, editOf(meta)
}

// findFragment is what a part of a resource holds of an origin.
func findFragment(r resource.Resource, part string, origin resource.Origin) (found resource.Fragment, ok bool) {
	for _, p := range resource.SelectParts(r.Parts, []string{part}) {
		for _, f := range p.Fragments {
			if f.Origin == origin {
				found, ok = f, true
			}
		}
	}
	return found, ok
}

// ruleInRoute is a rule in its route.
type ruleInRoute struct {
	route model.Route
	rule  model.Rule
}

func (q *inquiry) findRule(k model.RuleKey) (ruleInRoute, bool) {
	route, _ := flow.Get(q.view, q.world.Plan.Routes, k.Route)
	i := slices.IndexFunc(route.Rules, func(r model.Rule) bool { return r.Key == k })
	if i < 0 {
		return ruleInRoute{}, false
	}
	return ruleInRoute{route, route.Rules[i]}, true
}

// findMeta is an object's metadata, and when the object was read as it is now.
func (q *inquiry) findMeta(ref model.ObjectRef) (model.Meta, flow.Rev, bool) {
	from := q.world.Sources.KindSource(ref.Kind())
	if from == nil {
		return model.Meta{}, 0, false
	}
	o, found := from.Get(q.view, ref)
	return o.Meta, from.ChangedAt(q.view, ref), found
}

// clientsOf tells what a listener wants of its clients: whether this one has it is not known.
func (q *inquiry) clientsOf(listener model.ListenerKey) []string {
	l, _ := flow.Get(q.view, q.world.Plan.Listeners, listener)
	if l.Clients == nil || l.Clients.Optional {
		return nil
	}
	return []string{fmt.Sprintf(
		"clients without a certificate that is valid by spec.tls.frontend of %s are rejected at listener %s", l.Gateway,
		listener.Describe(l.Gateway))}
}

// policyOf tells which policy says how a backend is spoken to, and why nothing is sent there.
func (q *inquiry) policyOf(key plan.BackendKey) []string {
	b, _ := flow.Get(q.view, q.world.Plan.Backends, key)
	switch {
	case b.TLS == nil:
		return nil
	case b.TLS.Closed != "":
		return []string{"no request is sent there: " + b.TLS.Closed}
	case b.TLS.Policy == (model.ObjectRef{}):
		return nil
	}
	return []string{fmt.Sprintf("over TLS, for %s, by %s", b.TLS.Hostname, b.TLS.Policy)}
}

// describeOutcome tells what happens to a share of the requests.
func (q *inquiry) describeOutcome(sent parsedRequest, o request.Outcome) Outcome {
	out := Outcome{
		Percent: 100 * o.Share, Status: o.Status, Answer: o.AnswerStatus(), Why: o.Why, Location: o.Location,
		Endpoints: o.Endpoints, Filters: o.Describe(sent.Request),
	}
	if o.Closed != "" {
		out.Closed = sent.describeLost(o)
	}
	switch {
	case o.Unresolved && o.Closed != "":
		out.Backend = "backends that can't be used"
	case o.Unresolved:
		out.Backend = "references that don't resolve"
	case o.Backend != (model.BackendKey{}):
		out.Backend = o.Backend.Describe()
	}
	for _, m := range o.Mirrors {
		copies := fmt.Sprintf("%g%% of the requests are copied to %s", 100*m.Share, m.Backend.Object)
		out.Filters = append(out.Filters, copies)
	}
	return out
}

package xds

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/resource"
)

// trialTimeout is how long a proxy may take to ask for a trial's table, or to answer the next group. A connection that
// is dead ends sooner or later; this is for one that lives and does not answer, while proxies wait for the verdict.
const trialTimeout = 15 * time.Second

// trialPrefix begins the names of trial listeners and their tables. Each trial has a name of its own: a proxy keeps a
// listener for a while after it was removed, and with it the table.
const trialPrefix = "trial/"

// maxSingleTrials is how many suspects are tried one by one at once: more are tried in groups first.
const maxSingleTrials = 16

// trial finds out which suspects of refused resources are bad, apart from live traffic: Envoy's message names none. It
// is a listener that takes no connection, at the proxy that refused. Suspects of route tables are sent to a table of
// its own, all to that one, a response for each group, without a wait: Envoy answers each of them. Those of listeners
// and of extensions are filter chains, which are sent as that listener in the same way.
//
//	n suspects ---> groups of sqrt(n) ---> the members of refused groups, one by one ---> verdict
//
// So a trial takes two rounds at most. After the verdict the graph puts substitutes in the place of what is bad.
type trial struct {
	proxy        *stream
	name         string
	triedType    resource.Type         // what is sent: tables or listeners (TypeSpec.TriedIn)
	sent         bool                  // its listener was sent, and has to be removed
	resources    []*entry              // that are tried here
	suspects     map[*entry][]*suspect // by resource; nil until it begins. A fragment at many places is one suspect
	next         [][]*suspect          // groups to be sent
	openGroups   int                   // groups without an answer
	triedCount   int                   // suspects
	rounds       int
	silent       bool // the proxy did not answer in time
	startedAt    time.Time
	lastActivity time.Time // when something was sent last, or an answer came
}

// trialResult is what became of a trial, for the log.
type trialResult struct {
	suspects, rejected, rounds int
	duration                   time.Duration
}

// openTrial opens a trial for the first resource that waits for one, if there is none.
func (s *gatewaySet) openTrial(now time.Time) {
	if s.trial != nil || len(s.queue) == 0 {
		return
	}
	if s.lastTrial == 0 {
		s.lastTrial = now.Unix() // a proxy may know trials of a server that was here before
	}
	s.lastTrial++
	first := s.queue[0]
	s.trial = &trial{
		proxy: first.refusal.stream, triedType: s.spec(first.name.Type).TrialType,
		name: trialPrefix + strconv.FormatInt(s.lastTrial, 10), startedAt: now, lastActivity: now,
	}
	s.trial.proxy.wake()
}

// withdrawFromTrial takes a resource out of the trial and out of those that wait for one.
func (s *gatewaySet) withdrawFromTrial(e *entry) {
	is := func(other *entry) bool { return other == e }
	s.queue = slices.DeleteFunc(s.queue, is)
	if s.trial != nil {
		s.trial.resources = slices.DeleteFunc(s.trial.resources, is)
	}
}

// beginTrial makes the groups when the proxy is ready for them. They have the newest content of everything that it
// refused by then and that is tried in the same way.
func (s *gatewaySet) beginTrial() {
	t := s.trial
	t.suspects, t.rounds = map[*entry][]*suspect{}, 1
	known := map[resource.RefusalKey]*suspect{}
	var list []*suspect
	s.queue = slices.DeleteFunc(s.queue, func(e *entry) bool {
		if e.refusal.stream != t.proxy || s.spec(e.name.Type).TrialType != t.triedType {
			return false
		}
		t.resources = append(t.resources, e)
		for _, x := range s.findSuspects(e, e.refusal.accepted, s.composeOffer(e)) {
			k := s.refusalKey(x.fragment)
			if known[k] == nil {
				known[k] = x
				if len(x.pieces) > 0 {
					list = append(list, x)
				}
			}
			t.suspects[e] = append(t.suspects[e], known[k])
		}
		return true
	})
	size := 1
	if len(list) > maxSingleTrials {
		size = int(math.Ceil(math.Sqrt(float64(len(list)))))
	}
	t.next, t.triedCount = slices.Collect(slices.Chunk(list, size)), len(list)
	if t.openGroups = len(t.next); t.openGroups == 0 {
		s.closeTrial()
	}
}

// recordTrialAnswer takes the proxy's answer to a group.
func (s *gatewaySet) recordTrialAnswer(group []*suspect, refused bool, said string) {
	t := s.trial
	t.lastActivity = t.proxy.now
	t.openGroups--
	switch {
	case !refused:
	case len(group) == 1:
		group[0].refused, group[0].message = true, said
	default:
		t.rounds = 2
		t.next = slices.AppendSeq(t.next, slices.Chunk(group, 1))
		t.openGroups += len(group)
	}
	if t.openGroups == 0 {
		s.closeTrial()
	}
}

// closeTrial ends the trial by its verdict, and goes on with what waits.
func (s *gatewaySet) closeTrial() {
	t := s.trial
	if t.suspects == nil {
		if s.beginTrial(); s.trial != t {
			return
		}
	}
	var list []rejectedContent
	for _, e := range t.resources {
		list = append(list, s.trialVerdict(e, t)...)
	}
	told := s.addRejections(list)
	for _, e := range t.resources {
		if e.state == onTrial {
			s.serveEntry(e)
		}
	}
	s.feedback.trials = append(s.feedback.trials, trialResult{t.triedCount, told, t.rounds, t.proxy.now.Sub(t.startedAt)})
	if t.sent {
		t.proxy.closed = append(t.proxy.closed, t.name)
	}
	s.trial = nil
	s.openTrial(t.proxy.now)
}

// trialVerdict is what is rejected of a resource: the suspects that were refused alone. If there are none, it is tried
// as it was edited since; or it is what can't be tried, a listener's address; or else all that is new in it is rejected
// together, so that the resource takes edits of others. Not if the proxy has accepted no version that tells what is
// new, and has no default in its place, or did not answer: then the resource stays as it was until it changes.
func (s *gatewaySet) trialVerdict(e *entry, t *trial) (list []rejectedContent) {
	for _, x := range t.suspects[e] {
		if x.refused {
			c := e.refusal.contentOf(x)
			c.details.Message = t.suspectMessage(e, x.message)
			list = append(list, c)
		}
	}
	untriable := untriableSuspects(t.suspects[e])
	switch {
	case len(list) > 0, !e.refusal.refusedVersion.sameAs(s.composeOffer(e)):
	case s.spec(e.name.Type).KeepsParts && len(untriable) > 0:
		s.rejectResource(e, untriable)
	case e.refusal.accepted == nil && !s.spec(e.name.Type).HasDefault, t.silent:
		s.rejectResource(e, nil)
	default:
		s.lastGroup++
		for _, x := range t.suspects[e] {
			c := e.refusal.contentOf(x)
			c.group = s.lastGroup
			list = append(list, c)
		}
	}
	return list
}

// suspectMessage are what the proxy said of a suspect, as if it had said that of the suspect's resource.
func (t *trial) suspectMessage(e *entry, said string) string {
	if _, reason, found := strings.Cut(said, t.name+": "); found && e.name.Type != t.triedType {
		return reason
	}
	return strings.ReplaceAll(said, t.name, e.name.Name)
}

// sendTrials sends what is tried, and removes the listeners of trials that are over.
func (st *stream) sendTrials() {
	s := st.set
	if len(st.closed) > 0 { // before the next trial: they share an address
		st.pushResponse(&response{typ: s.listeners, removed: st.closed})
		st.closed = nil
	}
	for s.trial != nil && s.trial.proxy == st && !st.subs[st.set.listeners].open {
		s.closeTrial()
	}
	t := s.trial
	if t == nil || t.proxy != st || st.hasEmbeddedInFlight(st.set.listeners) {
		return
	}
	switch {
	case t.triedType == s.tables && !t.sent:
		st.pushTrial(nil, s.listeners, s.Trials.BuildListener(t.name, t.name))
	case t.triedType == s.listeners && t.suspects == nil:
		if s.beginTrial(); s.trial != t {
			st.sendTrials()
			return
		}
	}
	for _, group := range t.next {
		var pieces [][]byte
		for _, x := range group {
			pieces = append(pieces, x.pieces...)
		}
		st.pushTrial(group, t.triedType, s.Trials.BuildTrial(t.triedType, t.name, pieces))
	}
	t.next = nil
}

func (st *stream) pushTrial(group []*suspect, typ resource.Type, r resource.Resource) {
	t := st.set.trial
	n := resource.Name{Type: typ, Name: t.name}
	t.lastActivity, t.sent = st.now, true
	st.wakeAt(t.lastActivity.Add(trialTimeout))
	st.pushResponse(&response{typ: n.Type, trial: t, group: group, items: []sentResource{{n, &version{res: r}}}})
}

// onTrialAnswer takes the answer to a response of a trial, and what the proxy said if it refused it.
func (st *stream) onTrialAnswer(r *response, refused bool, said string) {
	s := st.set
	switch {
	case s.trial != r.trial: // it is over
	case r.group != nil:
		s.recordTrialAnswer(r.group, refused, said)
	case refused: // so nothing can be tried
		s.trial.next = nil
		s.closeTrial()
	}
}

// endSilence ends the trial of a proxy that does not answer it.
func (st *stream) endSilence() {
	t := st.set.trial
	switch {
	case t == nil || t.proxy != st:
	case (!t.sent || len(t.next) > 0) && !st.hasEmbeddedInFlight(st.set.listeners): // what is next is sent in this step
	case st.now.Before(t.lastActivity.Add(trialTimeout)):
		st.wakeAt(t.lastActivity.Add(trialTimeout))
	default:
		t.silent = true
		st.set.closeTrial()
	}
}

// isTrial tells of a table that a proxy asks for that it is a trial's, which begins if it is the one that is open.
func (st *stream) isTrial(n resource.Name) bool {
	if n.Type != st.set.tables || !strings.HasPrefix(n.Name, trialPrefix) {
		return false
	}
	if t := st.set.trial; t != nil && t.proxy == st && t.name == n.Name && t.suspects == nil {
		st.set.beginTrial()
	}
	return true
}

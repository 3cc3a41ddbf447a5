package xds

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/resource"
)

// answerTime is how long a proxy may take to ask for a trial's table, or to answer the next group. A connection that is
// dead ends sooner or later; this is for one that lives and does not answer, while proxies wait for the verdict.
const answerTime = 15 * time.Second

// trialPrefix begins the names of trial listeners and their tables. Each trial has a name of its own: a proxy keeps a
// listener for a while after it was removed, and with it the table.
const trialPrefix = "trial/"

// oneByOne is how many suspects are tried one by one at once: more are tried in groups first.
const oneByOne = 16

// trial finds out which suspects of refused resources are bad, apart from live traffic: Envoy's message names none. It
// is a listener that takes no connection, at the proxy that refused. Suspects of route tables are sent to a table of
// its own, all to that one, a response for each group, without a wait: Envoy answers each of them. Those of listeners
// and of extensions are filter chains, which are sent as that listener in the same way.
//
//	n suspects ---> groups of sqrt(n) ---> the members of refused groups, one by one ---> verdict
//
// So a trial takes two rounds at most. After the verdict the graph puts substitutes in the place of what is bad.
type trial struct {
	proxy     *stream
	name      string
	in        resource.Type         // what is sent: Routes or Listener (TypeSpec.TriedIn)
	sent      bool                  // its listener was sent, and has to be removed
	resources []*entry              // that are tried here
	suspects  map[*entry][]*suspect // by resource; nil until it begins. A fragment at many places is one suspect
	next      [][]*suspect          // groups to be sent
	open      int                   // groups without an answer
	tried     int                   // suspects
	rounds    int
	silent    bool // the proxy did not answer in time
	since     time.Time
	at        time.Time // when something was sent last, or an answer came
}

// result is what became of a trial, for the log.
type result struct {
	suspects, rejected, rounds int
	took                       time.Duration
}

// openTrial opens a trial for the first resource that waits for one, if there is none.
func (s *set) openTrial(now time.Time) {
	if s.trial != nil || len(s.queue) == 0 {
		return
	}
	if s.trials == 0 {
		s.trials = now.Unix() // a proxy may know trials of a server that was here before
	}
	s.trials++
	first := s.queue[0]
	s.trial = &trial{
		proxy: first.refusal.stream, in: s.spec(first.name.Type).TriedIn,
		name: trialPrefix + strconv.FormatInt(s.trials, 10), since: now, at: now,
	}
	s.trial.proxy.wake()
}

// withdraw takes a resource out of the trial and out of those that wait for one.
func (s *set) withdraw(e *entry) {
	is := func(other *entry) bool { return other == e }
	s.queue = slices.DeleteFunc(s.queue, is)
	if s.trial != nil {
		s.trial.resources = slices.DeleteFunc(s.trial.resources, is)
	}
}

// begin makes the groups when the proxy is ready for them. They have the newest content of everything that it refused
// by then and that is tried in the same way.
func (s *set) begin() {
	t := s.trial
	t.suspects, t.rounds = map[*entry][]*suspect{}, 1
	known := map[resource.RefusalKey]*suspect{}
	var list []*suspect
	s.queue = slices.DeleteFunc(s.queue, func(e *entry) bool {
		if e.refusal.stream != t.proxy || s.spec(e.name.Type).TriedIn != t.in {
			return false
		}
		t.resources = append(t.resources, e)
		for _, x := range s.suspects(e, e.refusal.accepted, s.composed(e)) {
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
	if len(list) > oneByOne {
		size = int(math.Ceil(math.Sqrt(float64(len(list)))))
	}
	t.next, t.tried = slices.Collect(slices.Chunk(list, size)), len(list)
	if t.open = len(t.next); t.open == 0 {
		s.closeTrial()
	}
}

// answered takes the proxy's answer to a group.
func (s *set) answered(group []*suspect, refused bool, said string) {
	t := s.trial
	t.at = t.proxy.now
	t.open--
	switch {
	case !refused:
	case len(group) == 1:
		group[0].refused, group[0].said = true, said
	default:
		t.rounds = 2
		t.next = slices.AppendSeq(t.next, slices.Chunk(group, 1))
		t.open += len(group)
	}
	if t.open == 0 {
		s.closeTrial()
	}
}

// closeTrial ends the trial by its verdict, and goes on with what waits.
func (s *set) closeTrial() {
	t := s.trial
	if t.suspects == nil {
		if s.begin(); s.trial != t {
			return
		}
	}
	var list []content
	for _, e := range t.resources {
		list = append(list, s.verdict(e, t)...)
	}
	told := s.reject(list)
	for _, e := range t.resources {
		if e.state == onTrial {
			s.serve(e)
		}
	}
	s.news.trials = append(s.news.trials, result{t.tried, told, t.rounds, t.proxy.now.Sub(t.since)})
	if t.sent {
		t.proxy.closed = append(t.proxy.closed, t.name)
	}
	s.trial = nil
	s.openTrial(t.proxy.now)
}

// verdict is what is rejected of a resource: the suspects that were refused alone. If there are none, it is tried as it
// was edited since; or it is what can't be tried, a listener's address; or else all that is new in it is rejected
// together, so that the resource takes edits of others. Not if the proxy has accepted no version that tells what is
// new, and has no default in its place, or did not answer: then the resource stays as it was until it changes.
func (s *set) verdict(e *entry, t *trial) (list []content) {
	for _, x := range t.suspects[e] {
		if x.refused {
			c := e.refusal.of(x)
			c.said.Message = t.words(e, x.said)
			list = append(list, c)
		}
	}
	untriable := withoutPieces(t.suspects[e])
	switch {
	case len(list) > 0, !e.refusal.version.equal(s.composed(e)):
	case s.spec(e.name.Type).KeepsParts && len(untriable) > 0:
		s.rejectWhole(e, untriable)
	case e.refusal.accepted == nil && !s.spec(e.name.Type).HasDefault, t.silent:
		s.rejectWhole(e, nil)
	default:
		s.groups++
		for _, x := range t.suspects[e] {
			c := e.refusal.of(x)
			c.group = s.groups
			list = append(list, c)
		}
	}
	return list
}

// words are what the proxy said of a suspect, as if it had said that of the suspect's resource.
func (t *trial) words(e *entry, said string) string {
	if _, reason, found := strings.Cut(said, t.name+": "); found && e.name.Type != t.in {
		return reason
	}
	return strings.ReplaceAll(said, t.name, e.name.Name)
}

// try sends what is tried, and removes the listeners of trials that are over.
func (st *stream) try() {
	s := st.set
	if len(st.closed) > 0 { // before the next trial: they share an address
		st.push(&response{typ: resource.Listener, removed: st.closed})
		st.closed = nil
	}
	for s.trial != nil && s.trial.proxy == st && !st.subs[resource.Listener].open {
		s.closeTrial()
	}
	t := s.trial
	if t == nil || t.proxy != st || st.embeds(resource.Listener) {
		return
	}
	switch {
	case t.in == resource.Routes && !t.sent:
		st.pushTrial(nil, resource.Listener, s.Trials.Listener(t.name, t.name))
	case t.in == resource.Listener && t.suspects == nil:
		if s.begin(); s.trial != t {
			st.try()
			return
		}
	}
	for _, group := range t.next {
		var pieces [][]byte
		for _, x := range group {
			pieces = append(pieces, x.pieces...)
		}
		st.pushTrial(group, t.in, s.Trials.Trial(t.in, t.name, pieces))
	}
	t.next = nil
}

func (st *stream) pushTrial(group []*suspect, typ resource.Type, r resource.Resource) {
	t := st.set.trial
	n := resource.Name{Type: typ, Name: t.name}
	t.at, t.sent = st.now, true
	st.later(t.at.Add(answerTime))
	st.push(&response{typ: n.Type, trial: t, group: group, items: []shipment{{n, &version{res: r}}}})
}

// tried takes the answer to a response of a trial, and what the proxy said if it refused it.
func (st *stream) tried(r *response, refused bool, said string) {
	s := st.set
	switch {
	case s.trial != r.trial: // it is over
	case r.group != nil:
		s.answered(r.group, refused, said)
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
	case (!t.sent || len(t.next) > 0) && !st.embeds(resource.Listener): // what is next is sent in this step
	case st.now.Before(t.at.Add(answerTime)):
		st.later(t.at.Add(answerTime))
	default:
		t.silent = true
		st.set.closeTrial()
	}
}

// isTrial tells of a table that a proxy asks for that it is a trial's, which begins if it is the one that is open.
func (st *stream) isTrial(n resource.Name) bool {
	if n.Type != resource.Routes || !strings.HasPrefix(n.Name, trialPrefix) {
		return false
	}
	if t := st.set.trial; t != nil && t.proxy == st && t.name == n.Name && t.suspects == nil {
		st.set.begin()
	}
	return true
}

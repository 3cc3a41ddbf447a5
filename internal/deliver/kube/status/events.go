package status

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	eventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Bounds of the Events: what is over them is not told (but counted), for the conditions say it, too.
const (
	eventRate  = 10 // a second
	eventBurst = 100
	maxNote    = 1024
	// eventPatience is how long an Event about a turn is held back: while a user applies several objects, the first
	// ones have errors, since the last is not there yet.
	eventPatience = time.Second
)

// events tells of conditions that turned.
type events struct {
	broadcaster k8sevents.EventBroadcaster
	recorder    k8sevents.EventRecorder
	limit       flowcontrol.RateLimiter
	metrics     *metrics
	catalog     *kind.Catalog

	mu      sync.Mutex
	ended   bool
	untold  map[types.UID]*news
	patient time.Duration // what has turned is told then, if it still holds
}

// news is what has turned at an object and is not told yet.
type news struct {
	ref      model.ObjectRef
	turns    []turn // one for each place and type
	findings []model.Finding
	timer    *time.Timer
}

func newEvents(ctx context.Context, cfg Config, m *metrics) (*events, error) {
	client, err := eventsv1.NewForConfig(own(cfg.REST))
	if err != nil {
		return nil, err
	}
	b := k8sevents.NewBroadcaster(&k8sevents.EventSinkImpl{Interface: client})
	if err := b.StartRecordingToSinkWithContext(ctx); err != nil {
		b.Shutdown()
		return nil, err
	}
	return &events{
		broadcaster: b, recorder: b.NewRecorder(runtime.NewScheme(), cfg.controller),
		limit: flowcontrol.NewTokenBucketRateLimiter(eventRate, eventBurst), metrics: m, catalog: cfg.Catalog,
		untold: map[types.UID]*news{}, patient: eventPatience,
	}, nil
}

// stop drops what was not sent yet.
func (e *events) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	for _, n := range e.untold {
		n.timer.Stop()
	}
	e.broadcaster.Shutdown()
	e.limit.Stop()
}

// tell tells of turns for the worse and back, after they were written: so each is told once, whoever wrote the status
// before. It is told a moment later (eventPatience), and not at all if it does not hold for that long.
func (e *events) tell(j job, uid types.UID, turns []turn, findings []model.Finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.untold[uid]
	switch {
	case e.ended || n == nil && len(turns) == 0:
		return
	case n == nil:
		n = &news{}
		n.timer = time.AfterFunc(e.patient, func() { e.flush(uid) })
		e.untold[uid] = n
	}
	n.ref, n.turns, n.findings = j.ref, joined(n.turns, turns), findings
}

// joined is what turned in all: what a first turn was, and what a later one of the same condition is.
func joined(turns, later []turn) []turn {
	turns = slices.Clone(turns)
	for _, t := range later {
		i := slices.IndexFunc(turns, func(o turn) bool { return o.place == t.place && o.is.Type == t.is.Type })
		if i < 0 {
			turns = append(turns, t)
			continue
		}
		t.was = turns[i].was
		turns[i] = t
	}
	return slices.DeleteFunc(turns, func(t turn) bool {
		return t.was.Status == t.is.Status && t.was.Reason == t.is.Reason && t.was.Message == t.is.Message
	})
}

// flush sends what is not told yet of an object.
func (e *events) flush(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.untold[uid]
	delete(e.untold, uid)
	if n == nil || e.ended {
		return
	}
	for _, note := range notes(n.turns, n.findings) {
		e.send(n.ref, uid, note)
	}
}

func (e *events) send(ref model.ObjectRef, uid types.UID, n note) {
	if !e.limit.TryAccept() {
		e.metrics.events.WithLabelValues("dropped").Inc()
		return
	}
	e.metrics.events.WithLabelValues("sent").Inc()
	e.recorder.Eventf(&corev1.ObjectReference{
		APIVersion: e.catalog.Of(ref.Kind()).APIVersion(), Kind: ref.Kind().String(), Namespace: ref.Namespace(),
		Name:            ref.Name(),
		UID:             uid,
		ResourceVersion: n.mark(),
	}, nil, n.kind, n.reason, n.action, "%s", n.text)
}

// Event is news of an object that no condition tells.
type Event struct {
	Warning        bool
	Reason, Action string // as of an Event: what happened, and what was done
	Text           string
}

// Tell tells of an object. It may be called from any goroutine, and waits for nothing; between two terms nobody is
// told.
func (s *Status) Tell(ref model.ObjectRef, uid string, e Event) {
	t := s.term.Load()
	if t == nil {
		return
	}
	n := note{kind: corev1.EventTypeNormal, reason: e.Reason, action: e.Action, text: cut(e.Text, maxNote)}
	if e.Warning {
		n.kind = corev1.EventTypeWarning
	}
	t.events.send(ref, types.UID(uid), n)
}

// note is what an Event says.
type note struct{ kind, reason, action, text string }

// mark tells a text from others. The recorder counts an Event onto an earlier one if all but the text is the same, and
// the text would be lost: so each text is about a version of the object of its own, which nobody asks for, and only the
// same text is counted.
func (n note) mark() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(n.text)) // it never fails
	return strconv.FormatUint(h.Sum64(), 10)
}

// actions are what is told of, by the condition's type: the words for what was tried.
var actions = map[string]string{
	"Accepted": "Accept", "ResolvedRefs": "ResolveRefs", "Programmed": "Program", ownPrefix + "Programmed": "Program",
	"PartiallyInvalid": "Accept",
}

// notes are the Events for turns: one for each action and reason.
func notes(turns []turn, findings []model.Finding) []note {
	var list []note
	for _, t := range turns {
		action, told := actions[t.is.Type]
		if !told || !(t.worse() || t.back()) {
			continue
		}
		n := note{kind: corev1.EventTypeNormal, reason: t.is.Reason, action: action}
		text := t.is.Message
		if t.worse() {
			n.kind = corev1.EventTypeWarning
			if t.place == "" { // the others' messages are made of their own findings
				text = explain(t.is, findings)
			}
		}
		i := slices.IndexFunc(list, func(o note) bool {
			return o.kind == n.kind && o.reason == n.reason &&
				o.action == n.action
		})
		if i < 0 {
			i, list = len(list), append(list, n)
		}
		list[i].say(placeName(t.place), text)
	}
	for i, n := range list {
		list[i].text = cut(n.text, maxNote)
	}
	return list
}

// say adds the text about one place. The same text about several places is added once.
func (n *note) say(place, text string) {
	switch {
	case n.text == "":
		n.text = strings.TrimPrefix(place+": "+text, ": ")
	case place != "" && strings.HasSuffix(n.text, ": "+text):
		n.text = strings.TrimSuffix(n.text, ": "+text) + ", " + place + ": " + text
	default:
		n.text += "; " + strings.TrimPrefix(place+": "+text, ": ")
	}
}

// worse: a condition turned for the worse. Waiting is not bad news, nor is a consequence of what is told beside it.
func (t turn) worse() bool {
	switch {
	case isProgrammed(t.is.Type):
		return t.is.Status == "False" && !waits(t.is) && !slices.ContainsFunc(t.beside, func(c condition) bool {
			return c.Status == "False" && (c.Type == "Accepted" || c.Type == "ResolvedRefs" || c.Type == "Programmed" &&
				t.is.Type != c.Type)
		})
	}
	return t.is.bad()
}

// back: what was told to be bad is well again.
func (t turn) back() bool {
	return t.was.Status == "False" && t.is.Status == "True" && !waits(t.was) && !t.worse()
}

// waits tells whether a Programmed is False for a while only.
func waits(c condition) bool {
	return isProgrammed(c.Type) && (c.Reason == pendingReason || c.Reason == "AddressNotAssigned")
}

// explain is a condition's message, with the findings that it sums up.
func explain(c condition, findings []model.Finding) string {
	var more []string
	for _, f := range findings {
		if f.Severity != model.Error || f.Condition != c.Type {
			continue
		}
		if f.Reason == c.Reason {
			return c.Message // it is made of them
		}
		more = append(more, strings.TrimPrefix(fmt.Sprintf("%s: %s", f.Section, f.Message), ": "))
	}
	if len(more) == 0 {
		return c.Message
	}
	return c.Message + ": " + strings.Join(more, "; ")
}

// placeName is the identity of an entry in words: "listener http", "Gateway infra/web".
func placeName(id string) string {
	var name string
	if json.Unmarshal([]byte(id), &name) == nil {
		return "listener " + name
	}
	var ref struct{ Kind, Namespace, Name, SectionName string }
	if json.Unmarshal([]byte(id), &ref) != nil {
		return ""
	}
	words := cmp.Or(ref.Kind, "Gateway") + " " + strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/")
	if ref.SectionName != "" {
		words += " (" + ref.SectionName + ")"
	}
	return words
}

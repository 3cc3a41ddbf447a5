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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Bounds of the Events: what is over them is not told (but counted), for the conditions say it, too.
const (
	eventRate  = 10 // a second
	eventBurst = 100
	maxNote    = 1024
	// eventDelay is how long an Event about a turn is held back: while a user applies several objects, the first
	// ones have errors, since the last is not there yet.
	eventDelay = time.Second
)

// eventRecorder tells of conditions that turned.
type eventRecorder struct {
	recorder *recorder
	limit    flowcontrol.RateLimiter
	metrics  *metrics
	catalog  *kind.Catalog

	mu      sync.Mutex
	ended   bool
	pending map[types.UID]*objectEvents
	delay   time.Duration // what has turned is told then, if it still holds
}

// objectEvents is what has turned at an object and is not told yet.
type objectEvents struct {
	ref         model.ObjectRef
	transitions []transition // one for each place and type
	findings    []model.Finding
	timer       *time.Timer
}

func newEvents(ctx context.Context, cfg Config, m *metrics) (*eventRecorder, error) {
	recorder, err := newRecorder(cfg)
	if err != nil {
		return nil, err
	}
	recorder.start(ctx)
	return &eventRecorder{
		recorder: recorder,
		limit:    flowcontrol.NewTokenBucketRateLimiter(eventRate, eventBurst), metrics: m, catalog: cfg.Catalog,
		pending: map[types.UID]*objectEvents{}, delay: eventDelay,
	}, nil
}

// stop drops what was not sent yet.
func (e *eventRecorder) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	for _, n := range e.pending {
		n.timer.Stop()
	}
	e.recorder.stop()
	e.limit.Stop()
}

// recordTransitions tells of turns for the worse and back, after they were written: so each is told once, whoever wrote
// the status before. It is told a moment later (eventDelay), and not at all if it does not hold for that long.
func (e *eventRecorder) recordTransitions(j job, uid types.UID, turns []transition, findings []model.Finding) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.pending[uid]
	switch {
	case e.ended || n == nil && len(turns) == 0:
		return
	case n == nil:
		n = &objectEvents{}
		n.timer = time.AfterFunc(e.delay, func() { e.sendPending(uid) })
		e.pending[uid] = n
	}
	n.ref, n.transitions, n.findings = j.ref, joinTransitions(n.transitions, turns), findings
}

// joinTransitions is what turned in all: what a first turn was, and what a later one of the same condition is.
func joinTransitions(turns, later []transition) []transition {
	turns = slices.Clone(turns)
	for _, t := range later {
		i := slices.IndexFunc(turns, func(o transition) bool { return o.place == t.place && o.is.Type == t.is.Type })
		if i < 0 {
			turns = append(turns, t)
			continue
		}
		t.was = turns[i].was
		turns[i] = t
	}
	return slices.DeleteFunc(turns, func(t transition) bool {
		return t.was.Status == t.is.Status && t.was.Reason == t.is.Reason && t.was.Message == t.is.Message
	})
}

// sendPending sends what is not told yet of an object.
func (e *eventRecorder) sendPending(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.pending[uid]
	delete(e.pending, uid)
	if n == nil || e.ended {
		return
	}
	for _, note := range makeNotes(n.transitions, n.findings) {
		e.sendEvent(n.ref, uid, note)
	}
}

func (e *eventRecorder) sendEvent(ref model.ObjectRef, uid types.UID, n eventNote) {
	if !e.limit.TryAccept() {
		e.metrics.eventCounter.WithLabelValues("dropped").Inc()
		return
	}
	e.metrics.eventCounter.WithLabelValues("sent").Inc()
	e.recorder.record(corev1.ObjectReference{
		APIVersion: e.catalog.FindKind(ref.Kind()).APIVersion(), Kind: ref.Kind().String(), Namespace: ref.Namespace(),
		Name: ref.Name(), UID: uid, ResourceVersion: n.textHash(),
	}, n)
}

// Event is news of an object that no condition tells.
type Event struct {
	Warning        bool
	Reason, Action string // as of an Event: what happened, and what was done
	Text           string
}

// RecordEvent tells of an object. It may be called from any goroutine, and waits for nothing; between two terms nobody
// is told.
func (s *Status) RecordEvent(ref model.ObjectRef, uid string, e Event) {
	t := s.term.Load()
	if t == nil {
		return
	}
	n := eventNote{eventType: corev1.EventTypeNormal, reason: e.Reason, action: e.Action, text: truncateText(e.Text,
		maxNote)}
	if e.Warning {
		n.eventType = corev1.EventTypeWarning
	}
	t.recorder.sendEvent(ref, types.UID(uid), n)
}

// eventNote is what an Event says.
type eventNote struct{ eventType, reason, action, text string }

// textHash tells a text from others. The recorder counts an Event onto an earlier one if all but the text is the same,
// and the text would be lost: so each text is about a version of the object of its own, which nobody asks for, and only
// the same text is counted.
func (n eventNote) textHash() string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(n.text)) // it never fails
	return strconv.FormatUint(h.Sum64(), 10)
}

// actions are what is told of, by the condition's type: the words for what was tried.
var actions = map[string]string{
	"Accepted": "Accept", "ResolvedRefs": "ResolveRefs", "Programmed": "Program", ownPrefix + "Programmed": "Program",
	"PartiallyInvalid": "Accept",
}

// makeNotes are the Events for turns: one for each action and reason.
func makeNotes(turns []transition, findings []model.Finding) []eventNote {
	var list []eventNote
	for _, t := range turns {
		action, told := actions[t.is.Type]
		if !told || !(t.isWorse() || t.isRecovery()) {
			continue
		}
		n := eventNote{eventType: corev1.EventTypeNormal, reason: t.is.Reason, action: action}
		text := t.is.Message
		if t.isWorse() {
			n.eventType = corev1.EventTypeWarning
			if t.place == "" { // the others' messages are made of their own findings
				text = explainCondition(t.is, findings)
			}
		}
		i := slices.IndexFunc(list, func(o eventNote) bool {
			return o.eventType == n.eventType && o.reason == n.reason &&
				o.action == n.action
		})
		if i < 0 {
			i, list = len(list), append(list, n)
		}
		list[i].addText(placeName(t.place), text)
	}
	for i, n := range list {
		list[i].text = truncateText(n.text, maxNote)
	}
	return list
}

// addText adds the text about one place. The same text about several places is added once.
func (n *eventNote) addText(place, text string) {
	switch {
	case n.text == "":
		n.text = strings.TrimPrefix(place+": "+text, ": ")
	case place != "" && strings.HasSuffix(n.text, ": "+text):
		n.text = strings.TrimSuffix(n.text, ": "+text) + ", " + place + ": " + text
	default:
		n.text += "; " + strings.TrimPrefix(place+": "+text, ": ")
	}
}

// isWorse: a condition turned for the worse. Waiting is not bad news, nor is a consequence of what is told beside it.
func (t transition) isWorse() bool {
	switch {
	case isProgrammed(t.is.Type):
		return t.is.Status == "False" && !isWaiting(t.is) && !slices.ContainsFunc(t.others, func(c condition) bool {
			return c.Status == "False" && (c.Type == "Accepted" || c.Type == "ResolvedRefs" || c.Type == "Programmed" &&
				t.is.Type != c.Type)
		})
	}
	return t.is.isBad()
}

// isRecovery: what was told to be bad is well again.
func (t transition) isRecovery() bool {
	return t.was.Status == "False" && t.is.Status == "True" && !isWaiting(t.was) && !t.isWorse()
}

// isWaiting tells whether a Programmed is False for a while only.
func isWaiting(c condition) bool {
	return isProgrammed(c.Type) && (c.Reason == pendingReason || c.Reason == "AddressNotAssigned")
}

// explainCondition is a condition's message, with the findings that it sums up.
func explainCondition(c condition, findings []model.Finding) string {
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

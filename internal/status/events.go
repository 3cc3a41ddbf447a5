package status

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	eventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	k8sevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"

	"cardea.dev/cardea/internal/model"
)

// Bounds of the Events: what is over them is not told (but counted), for the conditions say it, too.
const (
	eventRate  = 10 // a second
	eventBurst = 100
	maxNote    = 1024
)

// events tells of conditions that turned.
type events struct {
	broadcaster k8sevents.EventBroadcaster
	recorder    k8sevents.EventRecorder
	limit       flowcontrol.RateLimiter
	metrics     *metrics
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
	return &events{b, b.NewRecorder(runtime.NewScheme(), cfg.ControllerName), flowcontrol.NewTokenBucketRateLimiter(eventRate, eventBurst), m}, nil
}

// stop drops what was not sent yet.
func (e *events) stop() {
	e.broadcaster.Shutdown()
	e.limit.Stop()
}

// tell tells of turns for the worse and back, after they were written: so each is told once, whoever wrote the status before.
func (e *events) tell(j job, uid types.UID, turns []turn, findings []model.Finding) {
	for _, n := range notes(turns, findings) {
		e.send(j.ref, uid, n)
	}
}

func (e *events) send(ref model.ObjectRef, uid types.UID, n note) {
	if !e.limit.TryAccept() {
		e.metrics.events.WithLabelValues("dropped").Inc()
		return
	}
	e.metrics.events.WithLabelValues("sent").Inc()
	e.recorder.Eventf(&corev1.ObjectReference{
		APIVersion: versionOf(ref.Kind()).String(), Kind: ref.Kind().String(), Namespace: ref.Namespace(), Name: ref.Name(), UID: uid,
	}, nil, n.kind, n.reason, n.action, "%s", n.text)
}

// Event is news of an object that no condition tells.
type Event struct {
	Warning        bool
	Reason, Action string // as of an Event: what happened, and what was done
	Text           string
}

// Tell tells of an object. It may be called from any goroutine, and waits for nothing; between two terms nobody is told.
func (s *Status) Tell(ref model.ObjectRef, uid string, e Event) {
	to := s.events.Load()
	if to == nil {
		return
	}
	n := note{kind: corev1.EventTypeNormal, reason: e.Reason, action: e.Action, text: cut(e.Text, maxNote)}
	if e.Warning {
		n.kind = corev1.EventTypeWarning
	}
	to.send(ref, types.UID(uid), n)
}

// note is what an Event says.
type note struct{ kind, reason, action, text string }

// actions are what is told of, by the condition's type: the words for what was tried.
var actions = map[string]string{
	"Accepted": "Accept", "ResolvedRefs": "ResolveRefs", "Programmed": "Program", ownPrefix + "Programmed": "Program", "PartiallyInvalid": "Accept",
}

// notes are the Events for turns: one for each action and reason, for the API server counts further ones with the first one's text.
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
			n.kind, text = corev1.EventTypeWarning, explain(t.is, findings)
		}
		i := slices.IndexFunc(list, func(o note) bool { return o.kind == n.kind && o.reason == n.reason && o.action == n.action })
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

// say adds what is said of one place. The same words about several places are said once.
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
	case t.is.Type == "PartiallyInvalid":
		return t.is.Status == "True"
	case isProgrammed(t.is.Type):
		return t.is.Status == "False" && !waits(t.is) && !slices.ContainsFunc(t.beside, func(c condition) bool {
			return c.Status == "False" && (c.Type == "Accepted" || c.Type == "ResolvedRefs")
		})
	}
	return t.is.Status == "False"
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

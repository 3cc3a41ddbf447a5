package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// version is an object's version as tests write it: "web.2 shop/http ?cert" is the second version of web; it names the
// part http of shop, and cert, which is read on demand. "shop.1 :http" is a version of shop with the part http; without
// parts an object is named as a whole.
type version struct {
	name  string // "web.2"
	names []kind.Reference
	asks  []string
	parts []kind.Part
}

func refTo(name string) model.ObjectRef { return model.Ref(model.KindService, "a", name) }

func parse(text string) (v version) {
	words := strings.Fields(text)
	v.name = words[0]
	for _, word := range words[1:] {
		if part, is := strings.CutPrefix(word, ":"); is {
			v.parts = append(v.parts, kind.Part{Section: part})
			continue
		}
		name, asks := strings.CutPrefix(word, "?")
		name, part, _ := strings.Cut(name, "/")
		if asks {
			v.asks = append(v.asks, name)
		}
		v.names = append(v.names, kind.Reference{To: refTo(name), Part: kind.Part{Section: part}})
	}
	return v
}

func (v version) object() string {
	name, _, _ := strings.Cut(v.name, ".")
	return name
}

// rig is a source that publishes what Objects report, and has a clock that the test moves.
type rig struct {
	*Objects[version]
	now      time.Time
	answered map[string]bool // what is read on demand, and known to be there or not
	log      []string        // "web.2" was published, "-web" was removed
}

func newRig() *rig {
	r := &rig{now: time.Unix(1e9, 0), answered: map[string]bool{}}
	r.Objects = New(r, model.ObjectRef.Compare)
	return r
}

func (r *rig) ListReferences(v version) []kind.Reference { return v.names }

func (r *rig) HasPart(to kind.Reference, v version) bool {
	return v.parts == nil || to.MatchesPart(v.parts)
}

func (r *rig) IsUnanswered(_ model.ObjectRef, v version) bool {
	return slices.ContainsFunc(v.asks, func(name string) bool { return !r.answered[name] })
}

func (r *rig) publish(v version) {
	r.SetPublished(refTo(v.object()), v)
	r.log = append(r.log, v.name)
}

func (r *rig) remove(name string) {
	if _, was := r.Remove(refTo(name)); was {
		r.log = append(r.log, "-"+name)
	}
}

// step does what a line says, and then what has become due:
//
//	web.2 shop   a version arrives          =web      the published version is the newest one
//	-web         web was deleted            !web      web was deleted, and must go at once
//	cert?        cert is there, or absent   ?cert     nobody knows, since more of it is asked for
//	~            all that wait do so for longer
//	+50          50 ms later                +50 late  50 ms later, and nobody stops waiting
func (r *rig) step(line string) {
	due := r.now
	switch first := line[:1]; {
	case first == "+":
		var ms int
		_, _ = fmt.Sscanf(line, "+%d", &ms)
		if r.now = r.now.Add(time.Duration(ms) * time.Millisecond); !strings.HasSuffix(line, "late") {
			due = r.now
		} else {
			due = time.Time{}
		}
	case first == "-":
		r.Fade(refTo(line[1:]), r.now.Add(Hold))
	case first == "!":
		r.remove(line[1:])
	case first == "=":
		r.StopWaiting(refTo(line[1:]))
	case first == "?":
		delete(r.answered, line[1:])
	case first == "~":
		r.PostponeAll(r.now)
	case strings.HasSuffix(line, "?"):
		r.answer(strings.TrimSuffix(line, "?"))
	default:
		if v := parse(line); r.AddVersion(refTo(v.object()), v, r.now) {
			r.publish(v)
		}
	}
	r.settle(due)
}

func (r *rig) answer(name string) {
	r.answered[name] = true
	for _, ref := range r.AllWaiting() {
		r.RecheckUnanswered(ref, r.now)
	}
}

func (r *rig) settle(due time.Time) {
	r.ReleaseDue(due, func(_ model.ObjectRef, v version) { r.publish(v) },
		func(ref model.ObjectRef) { r.remove(ref.Name()) })
}

// state is what an object is in.
func (r *rig) state(ref model.ObjectRef) State {
	if w := r.findWait(ref); w.state != Absent {
		return w.state
	}
	if _, known := r.PublishedVersion(ref); known {
		return Known
	}
	return Absent
}

// told is what was published and removed since it was asked last, and what waits: "web.2 -shop; api held 40".
func (r *rig) told() string {
	lines := []string{strings.Join(r.log, " ")}
	r.log = nil
	for s, word := range map[State]string{Held: "held", Unanswered: "unanswered", Fading: "fading"} {
		for ref, w := range r.waitingByState[s] {
			line := ref.Name() + " " + word
			if s != Unanswered {
				line += fmt.Sprint(" ", w.until.Sub(r.now).Milliseconds())
			}
			lines = append(lines, line)
		}
	}
	slices.Sort(lines[1:])
	return strings.TrimPrefix(strings.Join(lines, "; "), "; ")
}

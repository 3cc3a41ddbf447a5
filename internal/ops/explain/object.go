package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// Object is what became of an object.
type Object struct {
	Object     string `json:"object"`
	Where      string `json:"where,omitempty"`
	Generation int64  `json:"generation"`
	Edit       *Edit  `json:"edit,omitempty"`
	Stages     Stages `json:"stages"`
	Before     []Past `json:"before,omitempty"` // the edits before that are remembered, the newest first
	// Findings are about the object: "error: FIELD: MESSAGE".
	Findings []string `json:"findings,omitempty"`
	// DependsOn lists the objects that were looked up to read it, and says which do not exist.
	DependsOn []Dependency `json:"dependsOn,omitempty"`
	Made      []Made       `json:"made,omitempty"`
	// Fields are a policy's: where each one counts.
	Fields []Reached `json:"fields,omitempty"`
	// Panics are bugs of Cardea's own that concern the object, or what it looks at. Results from before stay.
	Panics  []string `json:"panics,omitempty"`
	Offline bool     `json:"offline,omitempty"` // no proxy runs
	Unasked bool     `json:"unasked,omitempty"` // the proxies of the cluster were not asked
}

// Stages are the times of the last edit on its way to the proxies; nil where a time is longer ago than is remembered,
// or not reached.
type Stages struct {
	Edited *time.Time    `json:"edited,omitempty"`
	Read   *time.Time    `json:"read,omitempty"` // the turn that took it began
	Turn   time.Duration `json:"turn,omitempty"` // how long that turn took, in nanoseconds
	// the last part of it that was changed was, to the first proxy
	Sent         *time.Time `json:"sent,omitempty"`
	Acknowledged *time.Time `json:"acknowledged,omitempty"` // the last part of it was, by the last proxy
}

// Dependency is another object.
type Dependency struct {
	Object string `json:"object"`
	Absent bool   `json:"absent,omitempty"`
	Wrong  bool   `json:"wrong,omitempty"` // it has errors of its own
}

// Made is a part of a resource that holds something of the object.
type Made struct {
	Gateway string `json:"gateway"`
	Type    string `json:"type"` // of the resource
	Name    string `json:"name"`
	Part    string `json:"part,omitempty"`  // such as a virtual host
	Of      string `json:"of,omitempty"`    // the rule or listener
	Field   string `json:"field,omitempty"` // the rule's in its object: "spec.rules[0]"
	Where   string `json:"where,omitempty"` // where that stands, of files: "web.yaml:12"
	Live    Live   `json:"live"`

	// with the last edit, to the first proxy; nil if the edit changed nothing of it
	Sent *time.Time `json:"sent,omitempty"`
}

// Object tells what became of an object; false if there is none.
func (e *Explainer) Object(ref model.ObjectRef) (story Object, found bool) {
	fetched := e.config.World.Graph.Trace(ref) // it waits for turns, so a View must not
	o := &became{ref: ref, fetched: fetched, findings: e.config.World.FindingsOf(ref)}
	if e.ask(o) != nil {
		return Object{}, false // became does nothing that fails
	}
	return o.story, o.found
}

// became is the question what became of an object.
type became struct {
	ref      model.ObjectRef
	fetched  []flow.Dependency
	findings []model.Finding

	rev       flow.Rev
	resources []keyed // that may have something of the object
	places    []place // where something of the object is
	found     bool
	story     Object
}

// keyed is a resource.
type keyed struct {
	key   resource.Key
	parts []*resource.Part
}

// place is a fragment in a resource.
type place struct {
	key      resource.Key
	part     string
	fragment resource.Fragment
}

func (o *became) gather(q *asked) {
	o.rev, o.resources = q.view.Rev(), nil
	if _, _, o.found = q.meta(o.ref); !o.found {
		return
	}
	q.holders(o.ref, func(key resource.Key,
		r resource.Resource) {
		o.resources = append(o.resources, keyed{key, r.Parts})
	})
}

func (o *became) work() error {
	o.places = nil
	for _, r := range o.resources {
		for _, part := range r.parts {
			for _, f := range part.Fragments {
				if f.Origin.Object == o.ref {
					o.places = append(o.places, place{r.key, part.ID, f})
				}
			}
		}
	}
	return nil
}

func (o *became) holds(q *asked) bool { return q.view.Rev() == o.rev }

func (o *became) tell(q *asked) {
	meta, changed, found := q.meta(o.ref)
	if !found {
		return
	}
	o.story = Object{
		Object: o.ref.String(), Where: q.locate(o.ref, ""), Generation: meta.Generation, Edit: editOf(meta),
		Offline: q.config.Offline, Unasked: q.config.Unasked,
		DependsOn: q.dependencies(o.ref, o.fetched), Made: q.made(o.places, changed), Fields: q.reached(o.ref),
	}
	findings := o.findings
	if q.config.Problems != nil {
		findings = slices.Concat(findings, q.config.Problems(o.ref))
	}
	for _, f := range findings {
		o.story.Findings = append(o.story.Findings, f.Severity.String()+": "+f.Says())
	}
	o.story.Stages, o.story.Before = q.stages(changed, o.story), q.history.before(o.ref, changed)
	concerned := []string{o.story.Object}
	for _, d := range o.story.DependsOn {
		concerned = append(concerned, d.Object)
	}
	o.story.Panics = q.panics(concerned...)
}

// dependencies are the objects among what was fetched.
func (q *asked) dependencies(own model.ObjectRef, fetched []flow.Dependency) []Dependency {
	objects := map[model.ObjectRef]struct{}{}
	for _, d := range fetched {
		if strings.HasPrefix(d.Collection, "feedback/") || d.Collection == "input/unread" {
			continue
		}
		var ref model.ObjectRef
		switch k := d.Key.(type) {
		case model.ObjectRef:
			ref = k
		case model.PortKey:
			ref = k.Gateway
		case model.ListenerKey:
			ref = k.Parent
		}
		if ref != (model.ObjectRef{}) && ref != own {
			objects[ref] = struct{}{}
		}
	}
	list := make([]Dependency, 0, len(objects))
	for ref := range objects {
		_, _, there := q.meta(ref)
		wrong := slices.ContainsFunc(q.world.Seen(q.view, ref),
			func(f model.Finding) bool { return f.Severity == model.Error })
		list = append(list, Dependency{ref.String(), !there, wrong})
	}
	slices.SortFunc(list, func(a, b Dependency) int { return strings.Compare(a.Object, b.Object) })
	return list
}

// made lists the parts that hold something of an object, which was edited in a turn.
func (q *asked) made(places []place, edited flow.Rev) []Made {
	var list []Made
	for _, p := range places {
		live := q.live(p.key, p.part, p.fragment)
		m := Made{
			Gateway: p.key.Gateway.NamespacedName(), Type: p.key.Type.String(), Name: p.key.Name, Part: p.part,
			Of:   p.fragment.Origin.Section,
			Live: live, Sent: q.sent(p.key, edited, live),
		}
		if place, found := q.place(model.RuleKey{Route: p.fragment.Origin.Object, Name: m.Of}); found {
			m.Field = place.rule.Field()
			m.Where = q.locate(p.fragment.Origin.Object, m.Field)
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b Made) int {
		return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Part, b.Part), strings.Compare(a.Of, b.Of))
	})
	return list
}

// sent is when a proxy was first sent a resource with an edit, as far as that changed something: what was acknowledged
// before it was not.
func (q *asked) sent(in resource.Key, edited flow.Rev, l Live) *time.Time {
	if q.config.Sent == nil || edited == 0 {
		return nil
	}
	at, found := q.config.Sent(in, edited)
	sent := moment(at)
	if !found || l.Acknowledged && (l.Since == nil || sent.After(*l.Since)) {
		return nil
	}
	return sent
}

func (q *asked) stages(changed flow.Rev, o Object) (s Stages) {
	if o.Edit != nil {
		s.Edited = o.Edit.At
	}
	if turn, known := q.turnOf(changed); known {
		s.Read, s.Turn = moment(turn.At), turn.Took
	}
	for _, m := range o.Made {
		if m.Sent != nil && (s.Sent == nil || m.Sent.After(*s.Sent)) {
			s.Sent = m.Sent
		}
	}
	for _, m := range o.Made {
		if !m.Live.Acknowledged || m.Live.Since == nil {
			s.Acknowledged = nil
			return s
		}
		if s.Acknowledged == nil || m.Live.Since.After(*s.Acknowledged) {
			s.Acknowledged = m.Live.Since
		}
	}
	return s
}

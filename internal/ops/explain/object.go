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
	Object     string     `json:"object"`
	Where      string     `json:"where,omitempty"`
	Generation int64      `json:"generation"`
	Edit       *Edit      `json:"edit,omitempty"`
	Stages     Stages     `json:"stages"`
	Before     []PastEdit `json:"before,omitempty"` // the edits before that are remembered, the newest first
	// Findings are about the object: "error: FIELD: MESSAGE".
	Findings []string `json:"findings,omitempty"`
	// DependsOn lists the objects that were looked up to read it, and says which do not exist.
	DependsOn []Dependency   `json:"dependsOn,omitempty"`
	Made      []RenderedPart `json:"made,omitempty"`
	// Fields are a policy's: where each one counts.
	Fields []FieldReach `json:"fields,omitempty"`
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

// RenderedPart is a part of a resource that holds something of the object.
type RenderedPart struct {
	Gateway string    `json:"gateway"`
	Type    string    `json:"type"` // of the resource
	Name    string    `json:"name"`
	Part    string    `json:"part,omitempty"`  // such as a virtual host
	Of      string    `json:"of,omitempty"`    // the rule or listener
	Field   string    `json:"field,omitempty"` // the rule's in its object: "spec.rules[0]"
	Where   string    `json:"where,omitempty"` // where that stands, of files: "web.yaml:12"
	Live    LiveState `json:"live"`

	// with the last edit, to the first proxy; nil if the edit changed nothing of it
	Sent *time.Time `json:"sent,omitempty"`
}

// ExplainObject tells what became of an object; false if there is none.
func (e *Explainer) ExplainObject(ref model.ObjectRef) (story Object, found bool) {
	fetched := e.config.World.Graph.Trace(ref) // it waits for turns, so a View must not
	o := &objectQuestion{ref: ref, fetched: fetched, findings: e.config.World.FindingsOf(ref)}
	if e.answerQuestion(o) != nil {
		return Object{}, false // became does nothing that fails
	}
	return o.story, o.found
}

// FindNamespaces lists the namespaces that have an object of a kind and a name.
func (e *Explainer) FindNamespaces(k model.Kind, name string) (list []string) {
	source := e.config.World.Sources.KindSource(k)
	if source == nil {
		return nil
	}
	e.config.World.Graph.View(func(v flow.View) {
		for _, ref := range source.ListRefs(v) {
			if ref.Name() == name && ref.Namespace() != "" {
				list = append(list, ref.Namespace())
			}
		}
	})
	slices.Sort(list)
	return list
}

// objectQuestion is the question what became of an object.
type objectQuestion struct {
	ref      model.ObjectRef
	fetched  []flow.Dependency
	findings []model.Finding

	rev       flow.Rev
	resources []keyedResource // that may have something of the object
	places    []fragmentPlace // where something of the object is
	found     bool
	story     Object
}

// keyedResource is a resource.
type keyedResource struct {
	key   resource.Key
	parts []*resource.Part
}

// fragmentPlace is a fragment in a resource.
type fragmentPlace struct {
	key      resource.Key
	part     string
	fragment resource.Fragment
}

func (o *objectQuestion) gatherRefs(q *inquiry) {
	o.rev, o.resources = q.view.Rev(), nil
	if _, _, o.found = q.findMeta(o.ref); !o.found {
		return
	}
	q.eachHolder(o.ref, func(key resource.Key,
		r resource.Resource) {
		o.resources = append(o.resources, keyedResource{key, r.Parts})
	})
}

func (o *objectQuestion) doSlowWork() error {
	o.places = nil
	for _, r := range o.resources {
		for _, part := range r.parts {
			for _, f := range part.Fragments {
				if f.Origin.Object == o.ref {
					o.places = append(o.places, fragmentPlace{r.key, part.ID, f})
				}
			}
		}
	}
	return nil
}

func (o *objectQuestion) stillHolds(q *inquiry) bool { return q.view.Rev() == o.rev }

func (o *objectQuestion) writeStory(q *inquiry) {
	meta, changed, found := q.findMeta(o.ref)
	if !found {
		return
	}
	o.story = Object{
		Object: o.ref.String(), Where: q.locate(o.ref, ""), Generation: meta.Generation, Edit: editOf(meta),
		Offline: q.config.Offline, Unasked: q.config.Unasked,
		DependsOn: q.findDependencies(o.ref, o.fetched), Made: q.listMade(o.places, changed), Fields: q.listReach(o.ref),
	}
	findings := o.findings
	if q.config.Problems != nil {
		findings = slices.Concat(findings, q.config.Problems(o.ref))
	}
	for _, f := range findings {
		o.story.Findings = append(o.story.Findings, f.Severity.String()+": "+f.Describe())
	}
	o.story.Stages, o.story.Before = q.findStages(changed, o.story), q.history.editsBefore(o.ref, changed)
	concerned := []string{o.story.Object}
	for _, d := range o.story.DependsOn {
		concerned = append(concerned, d.Object)
	}
	o.story.Panics = q.findPanics(concerned...)
}

// findDependencies are the objects among what was fetched.
func (q *inquiry) findDependencies(own model.ObjectRef, fetched []flow.Dependency) []Dependency {
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
		_, _, there := q.findMeta(ref)
		wrong := slices.ContainsFunc(q.world.FindingsIn(q.view, ref),
			func(f model.Finding) bool { return f.Severity == model.Error })
		list = append(list, Dependency{ref.String(), !there, wrong})
	}
	slices.SortFunc(list, func(a, b Dependency) int { return strings.Compare(a.Object, b.Object) })
	return list
}

// listMade lists the parts that hold something of an object, which was edited in a turn.
func (q *inquiry) listMade(places []fragmentPlace, edited flow.Rev) []RenderedPart {
	var list []RenderedPart
	for _, p := range places {
		live := q.findLive(p.key, p.part, p.fragment)
		m := RenderedPart{
			Gateway: p.key.Gateway.NamespacedName(), Name: p.key.Name, Part: p.part,
			Type: q.world.TypesOf(q.view, p.key.Gateway).Name(p.key.Type),
			Of:   p.fragment.Origin.Section,
			Live: live, Sent: q.firstSent(p.key, edited, live),
		}
		if place, found := q.findRule(model.RuleKey{Route: p.fragment.Origin.Object, Name: m.Of}); found {
			m.Field = place.rule.FieldPath()
			m.Where = q.locate(p.fragment.Origin.Object, m.Field)
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b RenderedPart) int {
		return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Part, b.Part), strings.Compare(a.Of, b.Of))
	})
	return list
}

// firstSent is when a proxy was first sent a resource with an edit, as far as that changed something: what was
// acknowledged before it was not.
func (q *inquiry) firstSent(in resource.Key, edited flow.Rev, l LiveState) *time.Time {
	if q.config.Sent == nil || edited == 0 {
		return nil
	}
	at, found := q.config.Sent(in, edited)
	sent := optionalTime(at)
	if !found || l.Acknowledged && (l.Since == nil || sent.After(*l.Since)) {
		return nil
	}
	return sent
}

func (q *inquiry) findStages(changed flow.Rev, o Object) (s Stages) {
	if o.Edit != nil {
		s.Edited = o.Edit.At
	}
	if turn, known := q.turnOf(changed); known {
		s.Read, s.Turn = optionalTime(turn.At), turn.Took
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

package policy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/translate/conditions"
)

// Piece is what a feature comes to at a level.
type Piece struct {
	Effective
	Rendered plan.Rendered
	Shown    string // the value, for explanations; "": there is none
	// Status answers in place of what is stated, which can't be served; 0: it is served.
	Status   int
	Findings []Finding
	// Idle is why the feature does not hold for a rule, though a broader level states it; "": nothing is told.
	Idle    string
	Fetches []fetch // documents that it depends on
	Files   []model.File
	// Materials are what it reads of objects as certificates and key sets.
	Materials []material
	// Anew is which rules that inherit it read it once more.
	Anew extend.Anew
	// Agents is what reads agents' requests for what is stated here or elsewhere.
	Agents []plan.Setting
	// Sets are the headers in which it tells who sent a request; Reads those that it depends on before that is known.
	Sets  extend.IdentityHeaders
	Reads []string
}

// Finding is something that is wrong with what a policy states.
type Finding struct {
	Policy    model.ObjectRef
	Severity  model.Severity
	Condition string
	Reason    string
	Field     string // "spec.jwt.providers[corp]"
	Message   string
}

// scope is features that are read together at one level.
type scope struct {
	c        *flow.Ctx
	m        *Meaning
	kind     Kind
	renderer plan.Renderer
	// rendering is what the renderer renders them for: plan.Renderer.Rule, Listener or Backend.
	rendering func(plan.Renderer, extend.Value, model.ObjectRef) (plan.Rendered, bool)
	// denied is what stands in place of what can't be served, and the status by which requests are answered.
	denied   func(status int, feature string, by model.ObjectRef) (int, plan.Rendered)
	where    extend.Where
	http1    func() bool     // of backends: extend.Where.HTTP1; else nil
	picked   func() bool     // of backends: extend.Where.Picked; else nil
	gateway  model.ObjectRef // of listeners; else zero
	route    model.ObjectRef // for rules; else zero
	features []*Feature
	stated   map[string][]statements
	merged   map[string]Effective
	refusals map[string]string // why features are invalid, whatever their values
	identity func() []string   // of rules: extend.Reader.IdentityHeaders; else nil
}

func (m *Meaning) scope(c *flow.Ctx, kind Kind, d model.DataPlane) *scope {
	s := &scope{
		c: c, m: m, kind: kind, renderer: m.renderers[d], rendering: plan.Renderer.Rule,
		stated: map[string][]statements{}, merged: map[string]Effective{},
	}
	s.denied = func(status int, feature string, by model.ObjectRef) (int, plan.Rendered) {
		return status, plan.Rendered{Settings: s.renderer.Error("denied/"+feature, status, by)}
	}
	return s
}

// placeOf is a level that many rules share.
func placeOf(gateway model.ObjectRef, section string) extend.Where {
	return extend.Where{Inherited: true, Object: gateway.String(), Section: section}
}

// add merges what is stated of a feature.
func (s *scope) add(f *Feature, stated []statements) {
	s.features = append(s.features, f)
	s.stated[f.Name] = stated
	if f.EachLevel {
		s.merged[f.Name] = each(f, s.kind.Kind, stated)
	} else {
		s.merged[f.Name] = effective(f.Name, f.merge, stated)
	}
}

func (s *scope) has(feature string) bool {
	_, has := s.merged[feature]
	return has
}

// piece reads and renders a feature. It turns off settings of broader levels that the feature does not have here.
func (s *scope) piece(f *Feature, broader []plan.Setting) Piece {
	p := Piece{Effective: s.merged[f.Name]}
	switch {
	case p.JSON != "":
		s.render(f, &p)
	case f.Off != nil:
		p.Rendered, _ = s.rendering(s.renderer, f.Off, p.by())
	}
	if f.EachLevel {
		return p // the others run, too
	}
	p.Rendered.Settings = append(p.Rendered.Settings, offs(broader, p.Rendered.Settings, p.by())...)
	return p
}

// render reads and renders what is in force.
func (s *scope) render(f *Feature, p *Piece) {
	told := &problems{feature: f.Name, effective: &p.Effective}
	if p.Wrong != "" {
		told.refused = true
		told.add("", Finding{Condition: "Accepted", Reason: "Invalid", Message: p.Wrong})
	}
	s.refusedAs(f, told)
	value, err := f.Read(reader{scope: s, problems: told}, []byte(p.JSON))
	if err != nil {
		told.add("", Finding{Condition: "Accepted", Reason: "Invalid", Message: err.Error()})
		told.refused = true
	} else {
		p.Shown, p.Anew, p.Sets, p.Reads = string(value.Shown()), value.Anew(), value.Sets(), value.Reads()
		if p.Shown == p.JSON {
			p.Shown = p.JSON // in one memory
		}
	}
	// If OnInvalid is Keep, Read has left out what is wrong.
	readable := err == nil && p.Wrong == "" && s.refusals[f.Name] == ""
	if readable && (f.OnInvalid == extend.Keep || !told.refused && !told.pending) {
		rendered, able := s.rendering(s.renderer, value, p.by())
		for _, u := range rendered.Unsupported {
			told.unsupported(u.Field, u.Why)
		}
		if !able {
			told.unsupported("", "the data plane has nothing for it")
		}
		rendered.Unsupported = nil // which is told
		p.Rendered = rendered
	}
	p.Findings, p.Fetches, p.Materials = told.list, told.fetches, told.materials
	p.Files = told.files
	if f.OnInvalid != extend.Deny || !told.refused && !told.pending {
		return
	}
	status := http.StatusInternalServerError
	if !told.refused {
		status = http.StatusServiceUnavailable
	}
	p.Status, p.Rendered = s.denied(status, f.Name, p.by())
}

// by is the policy that rendered settings are attributed to: the narrowest of those that count.
func (e *Effective) by() (by model.ObjectRef) {
	by = e.Disabled.Policy
	narrowest := Level(0)
	for _, f := range e.Fields {
		if f.From.Policy != (model.ObjectRef{}) && (by == (model.ObjectRef{}) || f.From.Level > narrowest) {
			by, narrowest = f.From.Policy, f.From.Level
		}
	}
	return by
}

// offs turn off the settings that broader levels have and a nearer one has not, except for lasting ones.
func offs(broader, own []plan.Setting, by model.ObjectRef) (list []plan.Setting) {
	for _, far := range broader {
		if far.Off || far.Lasting || slices.ContainsFunc(own, func(near plan.Setting) bool {
			return near.Slot == far.Slot && near.Name == far.Name
		}) {
			continue
		}
		list = append(list, plan.Setting{From: by, Slot: far.Slot, Name: far.Name, Off: true})
	}
	return list
}

// problems collects what is wrong with a feature.
type problems struct {
	feature          string
	effective        *Effective
	refused, pending bool
	list             []Finding
	fetches          []fetch
	materials        []material
	files            []model.File
}

// add tells a problem of a field to the policy that stated it.
func (p *problems) add(path string, f Finding) {
	if f.Policy == (model.ObjectRef{}) {
		f.Policy = p.effective.owner(path).Policy
	}
	f.Field = fieldOf(p.feature, path)
	if !slices.Contains(p.list, f) {
		p.list = append(p.list, f)
	}
}

func (p *problems) unsupported(path, why string) {
	p.refused = true
	p.add(path, Finding{Condition: conditions.Programmed, Reason: "Unsupported", Message: why})
}

// fieldOf is where a part of a feature stands in a policy.
func fieldOf(feature, path string) string {
	field := "spec." + feature
	if feature == closingFeature {
		return "spec"
	}
	if feature == extend.Whole {
		return strings.TrimSuffix("spec."+path, ".")
	}
	if slices.Contains([]byte(feature), '/') {
		field = fmt.Sprintf("spec.extensions[%s]", feature)
	}
	return FieldPath(field, path)
}

// FieldPath is a part of a feature, by its path below the feature: "jwt.mode", "rateLimits[orders].requests".
func FieldPath(feature, path string) string {
	switch feature {
	case extend.Whole:
		return path
	case closingFeature:
		return "closed"
	}
	if path == "" || path[0] == '[' { // all of it, or an element of a feature that is a list
		return feature + path
	}
	return feature + "." + path
}

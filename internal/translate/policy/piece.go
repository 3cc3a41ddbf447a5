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
	Rendered   plan.Rendered
	PublicJSON string // the value, for explanations; "": there is none
	// Status answers in place of what is stated, which can't be served; 0: it is served.
	Status   int
	Findings []Finding
	// Idle is why the feature does not hold for a rule, though a broader level states it; "": nothing is told.
	Idle    string
	Fetches []fetchRequest // documents that it depends on
	Files   []model.File
	// Materials are what it reads of objects as certificates and key sets.
	Materials []usedMaterial
	// RereadPerRule is which rules that inherit it read it once more.
	RereadPerRule extend.Reread
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
	// Closes: because of it connections are closed, though it may be a warning: the policy is right elsewhere.
	Closes bool
}

// featureScope is features that are read together at one level.
type featureScope struct {
	c          *flow.Ctx
	m          *Translator
	policyKind Kind
	renderer   plan.Renderer
	// renderFunc is what the renderer renders them for: plan.Renderer.RenderRule, Listener or BackendPieces.
	renderFunc func(plan.Renderer, extend.Value, model.ObjectRef) (plan.Rendered, bool)
	// renderDenied is what stands in place of what can't be served, and the status by which requests are answered.
	renderDenied func(status int, feature string, by model.ObjectRef) (int, plan.Rendered)
	where        extend.Location
	onlyHTTP1    func() bool     // of backends: extend.Location.HTTP1; else nil
	hasPicker    func() bool     // of backends: extend.Location.Picked; else nil
	gateway      model.ObjectRef // of listeners; else zero
	route        model.ObjectRef // for rules; else zero
	features     []*Feature
	stated       map[string][]statements
	merged       map[string]Effective
	refusals     map[string]string // why features are invalid, whatever their values
	elsewhere    func(Level) bool  // where connections are decided: connectionPlace.requests; else nil
	identity     func() []string   // of rules: extend.Reader.IdentityHeaders; else nil
}

func (m *Translator) newScope(c *flow.Ctx, kind Kind, d model.DataPlane) *featureScope {
	s := &featureScope{
		c: c, m: m, policyKind: kind, renderer: m.renderers[d], renderFunc: plan.Renderer.RenderRule,
		stated: map[string][]statements{}, merged: map[string]Effective{},
	}
	s.renderDenied = func(status int, feature string, by model.ObjectRef) (int, plan.Rendered) {
		return status, plan.Rendered{Settings: s.renderer.RenderError("denied/"+feature, status, by)}
	}
	return s
}

// placeOf is a level that many rules share.
func placeOf(gateway model.ObjectRef, section string) extend.Location {
	return extend.Location{Inherited: true, Object: gateway.String(), Section: section}
}

// addFeature merges what is stated of a feature.
func (s *featureScope) addFeature(f *Feature, stated []statements) {
	s.features = append(s.features, f)
	s.stated[f.Name] = stated
	if f.Unmerged != nil {
		s.merged[f.Name] = mergeEachLevel(f, s.policyKind.Kind, stated)
	} else {
		s.merged[f.Name] = mergeStatements(f.Name, f.merge, stated)
	}
}

func (s *featureScope) hasFeature(feature string) bool {
	_, has := s.merged[feature]
	return has
}

// newPiece reads and renders a feature. It turns off settings of broader levels that the feature does not have here.
func (s *featureScope) newPiece(f *Feature, broader []plan.Setting) Piece {
	p := Piece{Effective: s.merged[f.Name]}
	switch {
	case p.JSON != "":
		s.renderFeature(f, &p)
	case f.Off != nil:
		p.Rendered, _ = s.renderFunc(s.renderer, f.Off, p.attributedPolicy())
	}
	if f.Unmerged != nil {
		return p // the others run, too
	}
	p.Rendered.Settings = append(p.Rendered.Settings, turnOff(broader, p.Rendered.Settings, p.attributedPolicy())...)
	return p
}

// renderFeature reads and renders what is in force.
func (s *featureScope) renderFeature(f *Feature, p *Piece) {
	told := &problemCollector{feature: f.Name, effective: &p.Effective}
	if p.MergeError != "" {
		told.refused = true
		told.addFinding("", Finding{Condition: "Accepted", Reason: "Invalid", Message: p.MergeError})
	}
	s.reportRefusal(f, told)
	value, err := f.Read(reader{featureScope: s, problemCollector: told}, []byte(p.JSON))
	if err != nil {
		told.addFinding("", Finding{Condition: "Accepted", Reason: "Invalid", Message: err.Error()})
		told.refused = true
	} else {
		p.PublicJSON, p.RereadPerRule, p.Sets, p.Reads = string(value.PublicJSON()), value.RereadPerRule(), value.Sets(),
			value.Reads()
		if p.PublicJSON == p.JSON {
			p.PublicJSON = p.JSON // in one memory
		}
	}
	// If OnInvalid is Keep, Read has left out what is wrong.
	readable := err == nil && p.MergeError == "" && s.refusals[f.Name] == ""
	if readable && (f.OnInvalid == extend.Keep || !told.refused && !told.pending) {
		rendered, able := s.renderFunc(s.renderer, value, p.attributedPolicy())
		for _, u := range rendered.Unsupported {
			told.addUnsupported(u.Field, u.Why)
		}
		if !able {
			told.addUnsupported("", "the data plane does not support it")
		}
		rendered.Unsupported = nil // which is told
		for i := range rendered.Settings {
			if setting := &rendered.Settings[i]; setting.Slot == string(extend.SlotCORS) {
				setting.CORS = value.CORS()
			}
		}
		p.Rendered = rendered
	}
	p.Findings, p.Fetches, p.Materials = told.list, told.fetches, told.materials
	p.Files = told.files
	s.warnElsewhere(f, p)
	if f.OnInvalid != extend.Deny || !told.refused && !told.pending {
		return
	}
	status := http.StatusInternalServerError
	if !told.refused {
		status = http.StatusServiceUnavailable
	}
	p.Status, p.Rendered = s.renderDenied(status, f.Name, p.attributedPolicy())
}

// attributedPolicy is the policy that rendered settings are attributed to: the narrowest of those that count.
func (e *Effective) attributedPolicy() (by model.ObjectRef) {
	by = e.Disabled.Policy
	narrowest := Level(0)
	for _, f := range e.Fields {
		if f.From.Policy != (model.ObjectRef{}) && (by == (model.ObjectRef{}) || f.From.Level > narrowest) {
			by, narrowest = f.From.Policy, f.From.Level
		}
	}
	return by
}

// turnOff turn off the settings that broader levels have and a nearer one has not, except for lasting ones.
func turnOff(broader, own []plan.Setting, by model.ObjectRef) (list []plan.Setting) {
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

// problemCollector collects what is wrong with a feature.
type problemCollector struct {
	feature          string
	effective        *Effective
	refused, pending bool
	list             []Finding
	fetches          []fetchRequest
	materials        []usedMaterial
	files            []model.File
}

// addFinding tells a problem of a field to the policy that stated it.
func (p *problemCollector) addFinding(path string, f Finding) {
	if f.Policy == (model.ObjectRef{}) {
		f.Policy = p.effective.sourceOf(path).Policy
	}
	f.Field = fieldOf(p.feature, path)
	if !slices.Contains(p.list, f) {
		p.list = append(p.list, f)
	}
}

func (p *problemCollector) addUnsupported(path, why string) {
	p.refused = true
	p.addFinding(path, Finding{Condition: conditions.Programmed, Reason: "Unsupported", Message: why})
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

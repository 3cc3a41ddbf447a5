package diff

import (
	"errors"
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/schema"
	"cardea.dev/cardea/internal/world"
)

// Edit is what would be applied.
type Edit struct {
	Objects []map[string]any `json:"objects"` // as decoded from JSON, integers as int64
	Prune   bool             `json:"prune"`   // other objects are removed, but for Namespaces and GatewayClasses, which may be there by themselves
}

// Report is what an Edit would change.
type Report struct {
	Objects   []string  `json:"objects,omitempty"`   // "+ HTTPRoute shop/web", "~" changed, "-" removed
	Routes    []Route   `json:"routes,omitempty"`    // of route tables
	Resources []string  `json:"resources,omitempty"` // others that proxies get: "+ shop/web: Cluster service/shop/web/80"
	Requests  []Request `json:"requests,omitempty"`  // that would go elsewhere
	More      int       `json:"more,omitempty"`      // requests of that kind that are not listed
	Unasked   int       `json:"unasked,omitempty"`   // routes that differ and whose requests were not compared, since there are too many
	Refused   []string  `json:"refused,omitempty"`   // what would be wrong, and is not now
	Warnings  []string  `json:"warnings,omitempty"`  // the same, but without harm
}

// Route is a rendered route that differs.
type Route struct {
	Change  string `json:"change"` // "+", "~" or "-"
	Gateway string `json:"gateway"`
	Port    string `json:"port"` // the table: a port, for HTTPS with the listener
	Host    string `json:"host"`
	Object  string `json:"object"`
	Match   string `json:"match"`
}

// Request is one that would go elsewhere. It witnesses what changes for a route's match; Like counts its near misses to which the same happens.
type Request struct {
	Request string `json:"request"`
	Gateway string `json:"gateway"`
	Before  string `json:"before"`
	After   string `json:"after"`
	Like    int    `json:"like,omitempty"`
}

// IsEmpty tells whether nothing would change.
func (r Report) IsEmpty() bool {
	return len(r.Objects)+len(r.Routes)+len(r.Resources)+len(r.Requests)+len(r.Refused)+len(r.Warnings) == 0
}

// Differ answers what edits would change.
type Differ struct {
	world  *world.World
	schema *schema.Schema
}

// New makes a Differ of a world. Objects are defaulted and validated by the schemas of the API, as everywhere.
func New(w *world.World) (*Differ, error) {
	s, err := schema.New()
	if err != nil {
		return nil, err
	}
	return &Differ{w, s}, nil
}

// ErrBadObject: an object that no schema takes.
var ErrBadObject = errors.New("not a valid object")

// Diff tells what an edit would change. Nothing is applied. Turns wait while the edit runs through the graph, and not while what came of it is
// compared.
func (d *Differ) Diff(e Edit) (Report, error) {
	objects, err := d.read(e.Objects)
	if err != nil {
		return Report{}, err
	}
	var others []model.ObjectRef
	if e.Prune {
		others = d.others(objects)
	}
	var report Report
	var scenes []*scene
	err = d.world.Graph.Try(
		func(b *flow.Batch) { d.apply(b, objects, others) },
		func(v flow.View) { report, scenes = d.look(v) })
	if err != nil {
		return Report{}, err
	}
	c := comparison{report: &report, left: asked, seen: map[string]bool{}}
	for _, s := range scenes {
		if err := c.compare(s); err != nil {
			return Report{}, err
		}
	}
	c.finish()
	return report, nil
}

// read checks objects.
func (d *Differ) read(docs []map[string]any) (list []*schema.Object, err error) {
	seen := map[model.ObjectRef]bool{}
	for _, doc := range docs {
		_, label := d.schema.Identify(doc)
		o, problems := d.schema.Check(doc, schema.Options{})
		switch {
		case len(problems) > 0:
			return nil, fmt.Errorf("%s: %w: %s", label, ErrBadObject, strings.TrimPrefix(problems[0].Field+": "+problems[0].Message, ": "))
		case o == nil || d.world.Sources.Of(o.Ref.Kind()) == nil:
			return nil, fmt.Errorf("%s: %w: its kind is not read", label, ErrBadObject)
		case seen[o.Ref]:
			return nil, fmt.Errorf("%s: %w: it comes twice", label, ErrBadObject)
		}
		seen[o.Ref] = true
		list = append(list, o)
	}
	return list, nil
}

// others are the objects that there are besides the given ones, but for those that may be there by themselves.
func (d *Differ) others(objects []*schema.Object) (list []model.ObjectRef) {
	named := map[model.ObjectRef]bool{}
	for _, o := range objects {
		named[o.Ref] = true
	}
	d.world.Graph.View(func(v flow.View) {
		for _, kind := range model.Kinds() {
			from := d.world.Sources.Of(kind)
			if from == nil || kind == model.KindNamespace || kind == model.KindGatewayClass {
				continue
			}
			for _, ref := range from.Refs(v) {
				if !named[ref] {
					list = append(list, ref)
				}
			}
		}
	})
	return list
}

// apply writes objects, and deletes others. One that is there keeps its metadata but for the labels; a new one is the youngest unless it
// states an age.
func (d *Differ) apply(b *flow.Batch, objects []*schema.Object, others []model.ObjectRef) {
	for _, o := range objects {
		d.world.Sources.Of(o.Ref.Kind()).Update(b, o.Ref, o.Spec, func(meta model.Meta, found bool) model.Meta {
			if !found {
				meta.Generation = 1
				if o.Stated != nil {
					meta.Created = o.Stated.Created
				}
			}
			meta.Labels = o.Labels
			return meta
		})
	}
	for _, ref := range others {
		d.world.Sources.Of(ref.Kind()).Delete(b, ref)
	}
}

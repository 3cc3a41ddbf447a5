package diff

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/synthetic"
)

// Edit is what would be applied.
type Edit struct {
	Objects []map[string]any `json:"objects"`          // as decoded from JSON, integers as int64
	Remove  []Removal        `json:"remove,omitempty"` // objects that are removed; what is not there is left out
	// other objects are removed, but for Namespaces and GatewayClasses, which may be there by themselves
	Prune bool `json:"prune"`
}

// Removal names an object to be removed.
type Removal struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Report is what an Edit would change.
type Report struct {
	Objects []string `json:"objects,omitempty"` // "+ HTTPRoute shop/web", "~" changed, "-" removed
	Fields  []Field  `json:"fields,omitempty"`  // of the objects that are changed
	// MoreFields is how many fields of an object differ that are not listed, by its name in Fields.
	MoreFields map[string]int `json:"moreFields,omitempty"`
	// DataPlanes are those of the reported Gateways if Gateways have several, and those that would change: "infra/edge:
	// Envoy, would be EnvoyConfigMap"
	DataPlanes []string  `json:"dataPlanes,omitempty"`
	Routes     []Route   `json:"routes,omitempty"`    // of route tables
	Resources  []string  `json:"resources,omitempty"` // others that proxies get: "+ shop/web: Cluster web"
	Requests   []Request `json:"requests,omitempty"`  // that would go elsewhere
	More       int       `json:"more,omitempty"`      // requests of that kind that are not listed
	// Connections are connections, and sessions of datagrams, that would go elsewhere if they began anew; open ones stay.
	Connections     []Request `json:"connections,omitempty"`
	MoreConnections int       `json:"moreConnections,omitempty"` // of that kind that are not listed
	// Ends are the open connections that the edit would end: "infra/edge: all sessions of listener dns (port 53)".
	Ends       []string `json:"ends,omitempty"`
	Access     []Access `json:"access,omitempty"`     // who would gain or lose what of servers of MCP
	MoreAccess int      `json:"moreAccess,omitempty"` // changes of that kind that are not listed
	// routes that differ or lead to a backend that moves, and have too many requests to compare
	Unasked  int      `json:"unasked,omitempty"`
	Refused  []string `json:"refused,omitempty"`  // what would be wrong, and is not now
	Warnings []string `json:"warnings,omitempty"` // the same, but without harm
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

// Request is a request that would go elsewhere. It witnesses what changes for a route's match; Like counts its near
// misses to which the same happens.
type Request struct {
	Request string `json:"request"`
	Gateway string `json:"gateway"`
	Before  string `json:"before"`
	After   string `json:"after"`
	Like    int    `json:"like,omitempty"`
}

// IsEmpty tells whether nothing would change.
func (r Report) IsEmpty() bool {
	return len(r.Objects)+len(r.Routes)+len(r.Resources)+len(r.Requests)+len(r.Connections)+len(r.Ends)+len(r.Access)+
		len(r.Refused)+len(r.Warnings) == 0
}

// Config is what a Differ asks.
type Config struct {
	World *world.World
	// Applied, if not nil, tells what would be read of objects that are applied to the world that the View shows: some are
	// read in part or not at all, and something of what is there may stay. nil: they are read as they are. It may change
	// their specs. unknown is what would be read because of them, and nobody knows yet whether it is there.
	Applied func(flow.View, []input.ObjectContent) (read []input.ObjectContent, unknown []model.ObjectRef)
	// Offered, if not nil, tells what proxies are offered of a resource in place of what was rendered, nil if nothing;
	// apart is false if they are offered that. It is called in a View.
	Offered func(resource.Key) (instead *resource.Resource, apart bool)
	// ExtraFindings, if not nil, is what else is found of edits, where nothing but a proxy would find it. v is their View.
	ExtraFindings func(v flow.View) []model.Finding
	// Doubtful, if not nil, tells of an error that it may be none, since not all was read that decides about it: it is
	// shown as a warning.
	Doubtful func(model.Finding) bool
	// Waits: a version that names an owner (kind.Owner) that does not exist waits for it, and the one before stays, as in
	// a folder.
	Waits bool
}

// Differ answers what edits would change.
type Differ struct {
	world         *world.World
	extraFindings func(flow.View) []model.Finding
	applied       func(flow.View, []input.ObjectContent) ([]input.ObjectContent, []model.ObjectRef)
	offered       func(resource.Key) (*resource.Resource, bool)
	doubtful      func(model.Finding) bool
	waits         bool
	schema        *schema.Schema
}

// New makes a Differ of a world. Objects are defaulted and validated by the schemas of the API, as everywhere.
func New(c Config) *Differ {
	doubtful := func(f model.Finding) bool { return strings.Contains(f.Message, notRead) }
	if c.Doubtful != nil {
		doubtful = func(f model.Finding) bool { return strings.Contains(f.Message, notRead) || c.Doubtful(f) }
	}
	return &Differ{c.World, c.ExtraFindings, c.Applied, c.Offered, doubtful, c.Waits, schema.New(c.World.Sources.Catalog)}
}

// FindUnknown lists the objects that an edit begins to refer to, if nobody knows yet whether they are there.
func (d *Differ) FindUnknown(e Edit) ([]model.ObjectRef, error) {
	objects, err := d.readObjects(e.Objects)
	if err != nil {
		return nil, err
	}
	_, unknown := d.resolveApplied(objects)
	return unknown, nil
}

// ErrBadObject: an object that no schema takes.
var ErrBadObject = errors.New("not a valid object")

// Diff tells what an edit would change. Nothing is applied. Turns wait while the edit runs through the graph, and not
// while what came of it is compared.
func (d *Differ) Diff(e Edit) (Report, error) {
	objects, err := d.readObjects(e.Objects)
	if err != nil {
		return Report{}, err
	}
	others, err := d.findRemoved(e.Remove)
	if err != nil {
		return Report{}, err
	}
	if e.Prune {
		others = d.findOthers(objects)
	}
	objects, waiting := d.holdBackWaiting(objects)
	applied, unknown := d.resolveApplied(objects)
	opened := d.findReopened(applied, e)
	var report Report
	var scenes []*gatewayChange
	err = d.world.Graph.Try(
		func(b *flow.Batch) {
			d.applyEdits(b, applied, others)
			for _, key := range opened {
				d.world.Sources.Closed.Delete(b, key)
			}
			for _, ref := range unknown {
				d.world.Sources.Unreadable.Set(b, ref, notRead)
			}
		},
		func(v flow.View) { report, scenes = d.readChanges(v) })
	if err != nil {
		return Report{}, err
	}
	report.Refused = append(waiting, report.Refused...)
	c := comparison{report: &report, budget: maxCompared, seen: map[string]bool{}}
	for _, s := range scenes {
		if err := c.compareScene(s); err != nil {
			return Report{}, err
		}
	}
	c.sortAndCut()
	return report, nil
}

// readObjects checks objects.
func (d *Differ) readObjects(docs []map[string]any) (list []*schema.Object, err error) {
	seen := map[model.ObjectRef]bool{}
	for _, doc := range docs {
		_, label := d.schema.Identify(doc)
		o, problems := d.schema.Check(doc, schema.Options{})
		switch {
		case len(problems) > 0:
			return nil, fmt.Errorf("%s: %w: %s", label, ErrBadObject,
				strings.TrimPrefix(problems[0].Field+": "+problems[0].Message, ": "))
		case o == nil || d.world.Sources.KindSource(o.Ref.Kind()) == nil:
			return nil, fmt.Errorf("%s: %w: its kind is not read", label, ErrBadObject)
		case seen[o.Ref]:
			return nil, fmt.Errorf("%s: %w: it comes twice", label, ErrBadObject)
		}
		seen[o.Ref] = true
		if o.Ref.Kind() == model.KindNamespace {
			o.Labels = synthetic.NamespaceLabels(o.Labels, o.Ref.Name())
		}
		list = append(list, o)
	}
	return list, nil
}

// findRemoved are the objects that an edit removes, if they are there.
func (d *Differ) findRemoved(list []Removal) (refs []model.ObjectRef, err error) {
	d.world.Graph.View(func(v flow.View) {
		for _, r := range list {
			ref := model.Ref(model.KindOf(r.Group, r.Kind), r.Namespace, r.Name)
			source := d.world.Sources.KindSource(ref.Kind())
			if source == nil {
				err = fmt.Errorf("%s %s: %w: its kind is not read", r.Kind, ref.NamespacedName(), ErrBadObject)
				return
			}
			if _, there := source.Get(v, ref); there {
				refs = append(refs, ref)
			}
		}
	})
	return refs, err
}

// findOthers are all objects besides the given ones, except those that may be there by themselves.
func (d *Differ) findOthers(objects []*schema.Object) (list []model.ObjectRef) {
	named := map[model.ObjectRef]bool{}
	for _, o := range objects {
		named[o.Ref] = true
	}
	d.world.Graph.View(func(v flow.View) {
		for _, k := range d.world.Sources.Catalog.All() {
			if k.Cluster {
				continue
			}
			for _, ref := range d.world.Sources.KindSource(k.Kind).ListRefs(v) {
				if !named[ref] {
					list = append(list, ref)
				}
			}
		}
	})
	return list
}

// findReopened is what is closed and will not be any more, since the object that can't be read is written anew or
// removed.
func (d *Differ) findReopened(applied []arrivingObject, e Edit) (keys []model.ObjectRef) {
	anew := map[model.ObjectRef]bool{}
	for _, o := range applied {
		anew[o.Ref] = true
	}
	for _, r := range e.Remove {
		anew[model.Ref(model.KindOf(r.Group, r.Kind), r.Namespace, r.Name)] = true
	}
	d.world.Graph.View(func(v flow.View) {
		for key, closed := range flow.All(v, d.world.Sources.Closed.Collection()) {
			if e.Prune || anew[closed.Object] {
				keys = append(keys, key)
			}
		}
	})
	return keys
}

// notRead is the reason for an object that nobody has referred to so far. An error because of it is only a warning: the
// object may be there.
const notRead = "it is unknown until an object refers to it"

// arrivingObject is an object on its way into the graph.
type arrivingObject struct {
	input.ObjectContent
	created time.Time // zero: now
}

// resolveApplied makes of objects what is read of them.
func (d *Differ) resolveApplied(objects []*schema.Object) (list []arrivingObject, unknown []model.ObjectRef) {
	if d.applied == nil {
		for _, o := range objects {
			a := arrivingObject{ObjectContent: input.ObjectContent{Ref: o.Ref, Labels: o.Labels, Spec: o.Spec}}
			if o.Stated != nil {
				a.created = o.Stated.Created
			}
			list = append(list, a)
		}
		return list, nil
	}
	contents := make([]input.ObjectContent, 0, len(objects))
	for _, o := range objects {
		contents = append(contents, input.ObjectContent{Ref: o.Ref, Labels: o.Labels, Spec: o.Spec})
	}
	d.world.Graph.View(func(v flow.View) { contents, unknown = d.applied(v, contents) })
	for _, c := range contents {
		list = append(list, arrivingObject{ObjectContent: c})
	}
	return list, unknown
}

// applyEdits writes objects, and deletes others. One that is there keeps its metadata but for the labels; a new one is
// the youngest unless it states an age. A spec that differs only in how it is written down (nothing, or an empty list;
// "1000m", or "1") is the same.
func (d *Differ) applyEdits(b *flow.Batch, objects []arrivingObject, others []model.ObjectRef) {
	for _, o := range objects {
		d.world.Sources.KindSource(o.Ref.Kind()).Update(b, o.Ref, func(meta model.Meta, spec any) (model.Meta, any) {
			if spec == nil {
				meta.Generation, meta.Created = 1, o.created
			}
			if meta.Labels = o.Labels; spec == nil || !equality.Semantic.DeepEqual(spec, o.Spec) {
				spec = o.Spec
			}
			return meta, spec
		})
	}
	for _, ref := range others {
		d.world.Sources.KindSource(ref.Kind()).Delete(b, ref)
	}
}

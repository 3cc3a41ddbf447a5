package kube

import (
	"maps"
	"slices"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lifecycle"
)

// admitter decides what goes into the graph, and when. One goroutine uses it.
//
//	set ──> whose is it? ──> package lifecycle: may it be published, or must it wait? ──> graph
//	             └──> parked
type admitter struct {
	graph        *flow.Graph
	sources      *input.Sources
	catalog      *kind.Catalog
	startReading func(model.ObjectRef, kind.DataKeys) (stop func()) // begins to read one object
	relistKind   func(model.Kind)                                   // lists a kind again
	now          time.Time                                          // of this round of work

	objects     *lifecycle.Objects[objectVersion]
	kindsRead   map[model.Kind]bool     // kinds that were listed, or can't be
	sliceCounts map[model.ObjectRef]int // EndpointSlices with endpoints, by backend
	foreign     foreignObjects
	demands     demandIndex
	grants      grants
	synced      bool

	edits  []edit
	relist map[model.Kind]struct{}
}

// edit is one for the graph: an object's new version, or nil; or why it can't be read.
type edit struct {
	ref    model.ObjectRef
	object *object
	unread bool
	why    string // of unread; "" if it can be read now
}

func newAdmitter(graph *flow.Graph, sources *input.Sources) *admitter {
	d := &admitter{
		graph: graph, sources: sources, catalog: sources.Catalog,
		kindsRead: map[model.Kind]bool{}, sliceCounts: map[model.ObjectRef]int{}, relist: map[model.Kind]struct{}{},
		foreign: foreignObjects{classes: map[string]bool{}, parkedRoutes: map[model.ObjectRef][]kind.Reference{}},
		grants:  grants{},
		demands: demandIndex{
			objects: map[model.ObjectRef]*demand{}, byUser: map[model.ObjectRef][]model.ObjectRef{},
			refused: map[string]map[model.ObjectRef]struct{}{}, refusedIn: map[model.ObjectRef][]string{},
		},
	}
	for _, k := range d.catalog.All() {
		d.kindsRead[k.Kind] = k.ReadScope == kind.OnDemand
	}
	d.objects = lifecycle.New(d, d.catalog.ByNaming)
	return d
}

// processEvents takes events and puts what follows into the graph, in one batch. It returns when there is work again
// without an event; zero: never.
func (d *admitter) processEvents(events []event, now time.Time) time.Time {
	d.now = now
	for _, e := range events {
		d.handleEvent(e)
	}
	d.expireDemands()
	d.objects.ReleaseDue(d.now, d.publishVersion, d.dropObject)
	d.applyEdits()
	return d.nextDeadline()
}

func (d *admitter) handleEvent(e event) {
	switch e.action {
	case isSet:
		d.setVersion(e.object)
	case isRemoved:
		d.removeObject(e.ref)
	case isReplaced:
		d.replaceKind(e.objectKind, e.objects)
		d.noteKindRead(e.objectKind)
	case isUnreadable:
		d.noteKindRead(e.objectKind)
	case isAnswered:
		d.recordAnswer(e.ref, e.object, e.keys)
	case isFailed:
		d.noteUnreadable(e.ref, e.err)
	}
}

// noteKindRead judges what waited for a kind.
func (d *admitter) noteKindRead(kind model.Kind) {
	if d.kindsRead[kind] {
		return
	}
	d.kindsRead[kind] = true
	for _, ref := range d.objects.AllWaiting() {
		if v, waits := d.objects.WaitingVersion(ref); waits && d.canJudge(ref.Kind()) {
			d.decideVersion(v.object)
		}
	}
}

// canJudge says whether all was read that must be before objects of a kind can be judged.
func (d *admitter) canJudge(kind model.Kind) bool {
	first := d.catalog.FindKind(kind).ReadAfter
	return first == model.KindNone || d.kindsRead[first] && d.canJudge(first)
}

// replaceKind makes a kind's objects those of a list.
func (d *admitter) replaceKind(kind model.Kind, objects []*object) {
	there := make(map[model.ObjectRef]struct{}, len(objects))
	for _, o := range objects {
		there[o.ref] = struct{}{}
		d.setVersion(o)
	}
	gone := slices.Concat(slices.Collect(maps.Keys(d.objects.PublishedOfKind(kind))), d.objects.AllWaiting(),
		slices.Collect(maps.Keys(d.foreign.parkedRoutes)))
	gone = slices.DeleteFunc(gone, func(ref model.ObjectRef) bool {
		_, is := there[ref]
		return is || ref.Kind() != kind
	})
	slices.SortFunc(gone, model.ObjectRef.Compare)
	for _, ref := range slices.Compact(gone) {
		d.removeObject(ref)
	}
}

// setVersion takes an object's new version. One that differs in nothing that is kept is none.
func (d *admitter) setVersion(o *object) {
	if grant, is := o.spec.(*gatewayv1.ReferenceGrantSpec); is {
		d.updateGrant(o.ref, grant)
	}
	live, known := d.objects.PublishedVersion(o.ref)
	next, waits := d.objects.WaitingVersion(o.ref)
	switch {
	case waits && next.fingerprint == o.fingerprint:
	case known && live.fingerprint == o.fingerprint && !(live.index.trimmed &&
		attachesToGateways(d.catalog.FindKind(o.ref.Kind())) && !o.hasOwnStatus):
		d.dropWaitingDemand(o.ref)
		d.objects.StopWaiting(o.ref)
	default:
		d.decideVersion(o)
	}
}

// decideVersion finds out what is to become of a version.
func (d *admitter) decideVersion(o *object) {
	if d.canJudge(o.ref.Kind()) {
		if o = d.claimObject(o); o == nil {
			return
		}
		live, _ := d.objects.PublishedVersion(o.ref)
		d.demandReferences(o.ref, live.listReferences(), o.index.references)
	}
	v := objectVersion{o.fingerprint, o.index, o}
	if d.objects.AddVersion(o.ref, v, d.now) {
		d.publishVersion(o.ref, v)
	}
}

// ListReferences implements lifecycle.Source.
func (d *admitter) ListReferences(v objectVersion) []kind.Reference { return v.listReferences() }

// IsUnanswered implements lifecycle.Source: the object can't be judged yet, or the first answer is still to come about
// what is read for it.
func (d *admitter) IsUnanswered(ref model.ObjectRef, v objectVersion) bool {
	return !d.canJudge(ref.Kind()) || slices.ContainsFunc(v.listReferences(), d.isPending) ||
		ref.Kind() == model.KindReferenceGrant && d.grantWaits(ref)
}

// HasPart implements lifecycle.Source.
func (d *admitter) HasPart(r kind.Reference, v objectVersion) bool {
	switch {
	case v.index.anyPart:
		return true
	case d.catalog.FindKind(r.To.Kind()).OwnsEndpointSlices != nil && d.sliceCounts[r.To] == 0:
		return false // its endpoints are on their way: they are objects of their own
	}
	return r.MatchesPart(v.index.parts)
}

// publishVersion puts a version into the graph.
func (d *admitter) publishVersion(ref model.ObjectRef, v objectVersion) {
	o := v.object
	v.object = nil
	live, known := d.objects.SetPublished(ref, v)
	d.countSlices(live, -1)
	d.countSlices(v, +1)
	d.demandReferences(ref, v.listReferences())
	d.edits = append(d.edits, edit{ref: ref, object: o})
	d.updateForeign(o, live, known)
}

// removeObject takes an object that is gone.
func (d *admitter) removeObject(ref model.ObjectRef) {
	if ref.Kind() == model.KindReferenceGrant {
		d.updateGrant(ref, nil)
	}
	delete(d.foreign.parkedRoutes, ref)
	if !d.catalog.FindKind(ref.Kind()).Fades || !d.synced {
		d.dropObject(ref)
		return
	}
	d.dropWaitingDemand(ref)
	d.objects.Fade(ref, d.now.Add(lifecycle.Hold))
}

// dropWaitingDemand ends what is read for a version that waits, and not for the one that is in the graph.
func (d *admitter) dropWaitingDemand(ref model.ObjectRef) {
	if _, waits := d.objects.WaitingVersion(ref); waits {
		live, _ := d.objects.PublishedVersion(ref)
		d.demandReferences(ref, live.listReferences())
	}
}

// dropObject takes an object out of the graph.
func (d *admitter) dropObject(ref model.ObjectRef) {
	live, known := d.objects.Remove(ref)
	d.demandReferences(ref)
	if !known {
		return
	}
	d.countSlices(live, -1)
	d.edits = append(d.edits, edit{ref: ref})
	if ref.Kind() == model.KindGatewayClass {
		d.setClass(ref.Name(), false, false)
	}
}

// countSlices counts the slices of a backend.
func (d *admitter) countSlices(v objectVersion, n int) {
	if v.index == nil || v.index.backend == (model.ObjectRef{}) {
		return
	}
	if d.sliceCounts[v.index.backend] += n; d.sliceCounts[v.index.backend] == 0 {
		delete(d.sliceCounts, v.index.backend)
	}
}

// applyEdits gives the graph what was decided.
func (d *admitter) applyEdits() {
	edits := d.edits
	d.edits = nil
	begin := !d.synced && d.objects.Count(lifecycle.Held)+d.objects.Count(lifecycle.Unanswered) == 0
	for _, read := range d.kindsRead {
		begin = begin && read
	}
	if begin || len(edits) > 0 {
		d.graph.Apply("kube", func(b *flow.Batch) {
			for _, e := range edits {
				d.writeEdit(b, e)
			}
			if begin {
				d.sources.MarkSynced(b)
			}
		})
		d.synced = d.synced || begin
	}
	for kind := range d.relist {
		delete(d.relist, kind)
		d.relistKind(kind)
	}
}

func (d *admitter) writeEdit(b *flow.Batch, e edit) {
	switch source := d.sources.KindSource(e.ref.Kind()); {
	case e.unread && e.why != "":
		d.sources.Unreadable.Set(b, e.ref, e.why)
	case e.unread:
		d.sources.Unreadable.Delete(b, e.ref)
	case e.object != nil:
		source.Set(b, e.ref, e.object.meta, e.object.spec)
	default:
		source.Delete(b, e.ref)
	}
}

// nextDeadline is when something has waited long enough.
func (d *admitter) nextDeadline() time.Time {
	at := d.objects.NextDeadline()
	i := slices.IndexFunc(d.demands.queue, (*demand).awaitsAnswer)
	if i >= 0 && (at.IsZero() || d.demands.queue[i].deadline.Before(at)) {
		at = d.demands.queue[i].deadline
	}
	return at
}

package status

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// kind is a kind of object whose status is ours to write.
type kind struct {
	model.Kind
	version schema.GroupVersion
	plural  string
	form    form
	reports reports
}

// form says where in a kind's status conditions stand, and what of it is ours. Limits are those of the CRD.
type form struct {
	conditions []string       // types of the object's own conditions that are ours; nil: it has none
	list       string         // the field of entries that have conditions of their own; "": none
	identity   string         // the field that tells an entry from others
	controlled bool           // an entry is ours only if it names this controller
	inEntry    []string       // types of an entry's conditions that are ours
	entries    int            // how many there may be
	fields     map[string]int // further fields that are ours, and how many values each may have
}

// Limits and words that all kinds share.
const (
	maxConditions   = 8
	maxMessage      = 32768
	maxReason       = 1024
	controllerField = "controllerName"
	countField      = "attachedRoutes"
	conditionsField = "conditions"
)

var (
	classForm = form{
		conditions: []string{"Accepted", "SupportedVersion"},
		fields:     map[string]int{"supportedFeatures": 64},
	}
	gatewayForm = form{
		conditions: []string{"Accepted", "Programmed", "ResolvedRefs", "AddressesAssigned", "InsecureFrontendValidationMode"},
		list:       "listeners", identity: "name", entries: 64,
		inEntry: []string{"Accepted", "Conflicted", "ResolvedRefs", "Programmed", "OverlappingTLSConfig"},
		fields:  map[string]int{"addresses": 16},
	}
	routeForm = form{
		list: "parents", identity: "parentRef", controlled: true, entries: 32,
		inEntry: []string{"Accepted", "ResolvedRefs", "PartiallyInvalid"},
	}
	backendForm = form{
		list: "ancestors", identity: "ancestorRef", controlled: true, entries: 32,
		inEntry: []string{"Accepted", "ResolvedRefs"},
	}
)

// ownPrefix begins the types of conditions that are ours wherever they stand.
var ownPrefix = model.ControllerName[:strings.Index(model.ControllerName, "/")+1]

// ours tells whether a condition is a controller's to set, if types are the standard ones of its place.
func ours(types []string, condition string) bool {
	return slices.Contains(types, condition) || strings.HasPrefix(condition, ownPrefix)
}

// isProgrammed tells whether a condition says how far the proxies are.
func isProgrammed(condition string) bool {
	return condition == "Programmed" || strings.HasSuffix(condition, "/Programmed")
}

// pendingReason is the reason of a Programmed that waits for the proxies.
const pendingReason = "Pending"

// kindsOf lists the kinds that have reports.
func kindsOf(r plan.Reports) []*kind {
	return slices.DeleteFunc(allKinds(r), func(k *kind) bool { return k.reports == nil })
}

// versionOf is the version of a kind that is asked for.
func versionOf(k model.Kind) schema.GroupVersion {
	if k == model.KindXBackend {
		return xgatewayv1alpha1.SchemeGroupVersion
	}
	return schema.GroupVersion{Group: k.Group(), Version: "v1"}
}

func allKinds(r plan.Reports) []*kind {
	return []*kind{
		{model.KindGatewayClass, versionOf(model.KindGatewayClass), "gatewayclasses", classForm, reportsIn(r.GatewayClasses)},
		{model.KindGateway, versionOf(model.KindGateway), "gateways", gatewayForm, reportsIn(r.Gateways)},
		{model.KindXBackend, versionOf(model.KindXBackend), "xbackends", backendForm, reportsIn(r.XBackends)},
		{model.KindHTTPRoute, versionOf(model.KindHTTPRoute), "httproutes", routeForm, reportsIn(r.HTTPRoutes)},
		{model.KindGRPCRoute, versionOf(model.KindGRPCRoute), "grpcroutes", routeForm, reportsIn(r.GRPCRoutes)},
	}
}

// report is what is said of one object.
type report struct {
	uid      string // of the object
	status   []byte // JSON; nil: there is no report
	findings []model.Finding
	// tentative: see plan.Report
	tentative bool
}

// reports is a collection of them, whatever the type of the status.
type reports interface {
	follow() follower
	get(v flow.View, ref model.ObjectRef) func() (report, error)
}

// follower tells what changed since it was asked last. What it yields may be used when the View is over.
type follower interface {
	changes(v flow.View) iter.Seq2[model.ObjectRef, func() (report, error)]
	stop()
}

type reportsOf[S any] struct {
	c *flow.Collection[model.ObjectRef, plan.Report[S]]
}

// reportsIn is nil if c is.
func reportsIn[S any](c *flow.Collection[model.ObjectRef, plan.Report[S]]) reports {
	if c == nil {
		return nil
	}
	return reportsOf[S]{c}
}

func (r reportsOf[S]) get(v flow.View, ref model.ObjectRef) func() (report, error) {
	return said(flow.Get(v, r.c, ref))
}

func (r reportsOf[S]) follow() follower { return &followerOf[S]{flow.Follow(r.c)} }

type followerOf[S any] struct {
	f *flow.Follower[model.ObjectRef, plan.Report[S]]
}

func (f *followerOf[S]) changes(v flow.View) iter.Seq2[model.ObjectRef, func() (report, error)] {
	return func(yield func(model.ObjectRef, func() (report, error)) bool) {
		for change := range f.f.Changes(v) {
			if !yield(change.Key, said(change.Value, !change.Deleted)) {
				return
			}
		}
	}
}

func (f *followerOf[S]) stop() { f.f.Stop() }

// said makes a report later, outside the View: its values do not change.
func said[S any](r plan.Report[S], found bool) func() (report, error) {
	return func() (report, error) {
		if !found {
			return report{}, nil
		}
		text, err := json.Marshal(r.Status)
		if err != nil {
			return report{}, fmt.Errorf("encode a status: %w", err)
		}
		return report{uid: r.UID, status: text, findings: r.Findings, tentative: r.Tentative}, nil
	}
}

package objects

import (
	"context"
	"iter"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/world"
)

// stamps holds statuses with the times at which their conditions changed. The pure part knows no clock.
type stamps struct {
	now func() time.Time

	mu       sync.Mutex
	classes  map[model.ObjectRef]gatewayv1.GatewayClassStatus
	gateways map[model.ObjectRef]gatewayv1.GatewayStatus
	routes   map[model.ObjectRef]gatewayv1.HTTPRouteStatus
}

func newStamps(now func() time.Time) *stamps {
	return &stamps{
		now: now, classes: map[model.ObjectRef]gatewayv1.GatewayClassStatus{},
		gateways: map[model.ObjectRef]gatewayv1.GatewayStatus{}, routes: map[model.ObjectRef]gatewayv1.HTTPRouteStatus{},
	}
}

// follow stamps what every turn changed, until ctx is done.
func (s *stamps) follow(ctx context.Context, w *world.World) error {
	classes, gateways, routes := flow.Follow(w.Reports.GatewayClasses), flow.Follow(w.Reports.Gateways), flow.Follow(w.Reports.HTTPRoutes)
	defer classes.Stop()
	defer gateways.Stop()
	defer routes.Stop()
	for range w.Graph.Watch(ctx) {
		w.Graph.View(func(v flow.View) {
			s.mu.Lock()
			defer s.mu.Unlock()
			now := metav1.NewTime(s.now().Truncate(time.Second))
			keep(classes.Changes(v), s.classes, func(old, status *gatewayv1.GatewayClassStatus) {
				status.Conditions = stamp(old.Conditions, status.Conditions, now)
			})
			keep(gateways.Changes(v), s.gateways, func(old, status *gatewayv1.GatewayStatus) { stampGateway(old, status, now) })
			keep(routes.Changes(v), s.routes, func(old, status *gatewayv1.HTTPRouteStatus) { stampRoute(old, status, now) })
		})
	}
	return nil
}

// keep brings statuses up to date with a collection of reports. A report is shared: stamping must copy what it changes.
func keep[S any](
	changes iter.Seq[flow.Change[model.ObjectRef, plan.Report[S]]], statuses map[model.ObjectRef]S, stamp func(old, status *S),
) {
	for change := range changes {
		if change.Deleted {
			delete(statuses, change.Key)
			continue
		}
		old, status := statuses[change.Key], change.Value.Status
		stamp(&old, &status)
		statuses[change.Key] = status
	}
}

func stampGateway(old, status *gatewayv1.GatewayStatus, now metav1.Time) {
	status.Conditions = stamp(old.Conditions, status.Conditions, now)
	listeners := make([]gatewayv1.ListenerStatus, len(status.Listeners))
	for i, l := range status.Listeners {
		var was []metav1.Condition
		for _, o := range old.Listeners {
			if o.Name == l.Name {
				was = o.Conditions
			}
		}
		l.Conditions = stamp(was, l.Conditions, now)
		listeners[i] = l
	}
	status.Listeners = listeners
}

func stampRoute(old, status *gatewayv1.HTTPRouteStatus, now metav1.Time) {
	parents := make([]gatewayv1.RouteParentStatus, len(status.Parents))
	for i, p := range status.Parents {
		var was []metav1.Condition
		for _, o := range old.Parents {
			if sameParent(o.ParentRef, p.ParentRef) {
				was = o.Conditions
			}
		}
		p.Conditions = stamp(was, p.Conditions, now)
		parents[i] = p
	}
	status.Parents = parents
}

func sameParent(a, b gatewayv1.ParentReference) bool {
	return a.Name == b.Name && same(a.Namespace, b.Namespace) && same(a.SectionName, b.SectionName) && same(a.Port, b.Port) && same(a.Kind, b.Kind)
}

func same[T comparable](a, b *T) bool {
	return a == b || (a != nil && b != nil && *a == *b)
}

// stamp copies conditions with their times: that of the old one if its status is the same, else now.
func stamp(old, conditions []metav1.Condition, now metav1.Time) []metav1.Condition {
	stamped := make([]metav1.Condition, len(conditions))
	for i, c := range conditions {
		c.LastTransitionTime = now
		for _, o := range old {
			if o.Type == c.Type && o.Status == c.Status {
				c.LastTransitionTime = o.LastTransitionTime
			}
		}
		stamped[i] = c
	}
	return stamped
}

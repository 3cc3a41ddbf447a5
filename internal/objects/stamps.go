package objects

import (
	"context"
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
	"cardea.dev/cardea/internal/world"
)

// stamps remembers when conditions changed. The pure part knows no clock.
type stamps struct {
	now  func() time.Time
	seed maphash.Seed

	mu    sync.Mutex
	times map[model.ObjectRef][]moment
}

// moment is since when a condition has its status, in seconds since 1970. The condition is a hash of where it stands,
// its type and its status.
type moment struct {
	condition uint64
	since     int64
}

func newStamps(now func() time.Time) *stamps {
	return &stamps{now: now, seed: maphash.MakeSeed(), times: map[model.ObjectRef][]moment{}}
}

// follow takes note of what every turn changed, until ctx is done.
func (s *stamps) follow(ctx context.Context, w *world.World) error {
	classes, gateways := flow.Follow(w.Reports.GatewayClasses), flow.Follow(w.Reports.Gateways)
	httpRoutes, grpcRoutes := flow.Follow(w.Reports.HTTPRoutes), flow.Follow(w.Reports.GRPCRoutes)
	defer classes.Stop()
	defer gateways.Stop()
	defer httpRoutes.Stop()
	defer grpcRoutes.Stop()
	backends := flow.Follow(w.Reports.XBackends)
	defer backends.Stop()
	for range w.Graph.Watch(ctx) {
		w.Graph.View(func(v flow.View) {
			s.mu.Lock()
			defer s.mu.Unlock()
			note(s, classes.Changes(v), stampClass)
			note(s, gateways.Changes(v), stampGateway)
			note(s, httpRoutes.Changes(v), stampHTTPRoute)
			note(s, grpcRoutes.Changes(v), stampGRPCRoute)
			note(s, backends.Changes(v), stampBackend)
		})
	}
	return nil
}

// note takes note of changed reports. mu is held.
func note[S any](s *stamps, changes iter.Seq[flow.Change[model.ObjectRef, plan.Report[S]]], each func(S, stamper) S) {
	now := s.now().Unix()
	for change := range changes {
		if change.Deleted {
			delete(s.times, change.Key)
			continue
		}
		before := s.times[change.Key]
		var times []moment
		each(change.Value.Status, func(where string, conditions []metav1.Condition) []metav1.Condition {
			times = slices.Grow(times, len(conditions))
			for _, c := range conditions {
				id := s.id(where, c)
				times = append(times, moment{id, since(before, id, now)})
			}
			return nil
		})
		s.times[change.Key] = slices.Clip(times)
	}
}

// stamped is an object's status as reported, with times.
func stamped[S any](
	s *stamps, o head, reports *flow.Collection[model.ObjectRef, plan.Report[S]], each func(S, stamper) S,
) S {
	report, _ := flow.Get(o.view, reports, o.Ref)
	s.mu.Lock()
	times := s.times[o.Ref]
	s.mu.Unlock()
	now := s.now().Unix()
	return each(report.Status, func(where string, conditions []metav1.Condition) []metav1.Condition {
		conditions = slices.Clone(conditions)
		for i, c := range conditions {
			conditions[i].LastTransitionTime = metav1.Unix(since(times, s.id(where, c), now), 0)
		}
		return conditions
	})
}

// since is the time that is remembered of a condition, or else now.
func since(times []moment, condition uint64, now int64) int64 {
	for _, m := range times {
		if m.condition == condition {
			return m.since
		}
	}
	return now
}

func (s *stamps) id(where string, c metav1.Condition) uint64 {
	return maphash.Comparable(s.seed, [...]string{where, c.Type, string(c.Status)})
}

// stamper makes the conditions that stand somewhere in a status into others. It must not change them: reports are
// shared.
type stamper func(where string, conditions []metav1.Condition) []metav1.Condition

func stampClass(status gatewayv1.GatewayClassStatus, stamp stamper) gatewayv1.GatewayClassStatus {
	status.Conditions = stamp("", status.Conditions)
	return status
}

func stampGateway(status gatewayv1.GatewayStatus, stamp stamper) gatewayv1.GatewayStatus {
	status.Conditions = stamp("", status.Conditions)
	status.Listeners = slices.Clone(status.Listeners)
	for i := range status.Listeners {
		l := &status.Listeners[i]
		l.Conditions = stamp(string(l.Name), l.Conditions)
	}
	return status
}

func stampHTTPRoute(status gatewayv1.HTTPRouteStatus, stamp stamper) gatewayv1.HTTPRouteStatus {
	status.RouteStatus = stampRoute(status.RouteStatus, stamp)
	return status
}

func stampGRPCRoute(status gatewayv1.GRPCRouteStatus, stamp stamper) gatewayv1.GRPCRouteStatus {
	status.RouteStatus = stampRoute(status.RouteStatus, stamp)
	return status
}

func stampRoute(status gatewayv1.RouteStatus, stamp stamper) gatewayv1.RouteStatus {
	status.Parents = slices.Clone(status.Parents)
	for i := range status.Parents {
		p := &status.Parents[i]
		p.Conditions = stamp(parent(p.ParentRef), p.Conditions)
	}
	return status
}

func stampBackend(status xgatewayv1alpha1.BackendStatus, stamp stamper) xgatewayv1alpha1.BackendStatus {
	status.Ancestors = slices.Clone(status.Ancestors)
	for i := range status.Ancestors {
		a := &status.Ancestors[i]
		a.Conditions = stamp(parent(a.AncestorRef), a.Conditions)
	}
	return status
}

// parent tells apart the parents of one route.
func parent(p gatewayv1.ParentReference) string {
	return strings.Join([]string{
		stated(p.Group), stated(p.Kind), stated(p.Namespace), string(p.Name), stated(p.SectionName),
		strconv.Itoa(int(ptr.Deref(p.Port, 0))),
	}, "/")
}

func stated[T ~string](text *T) string { return string(ptr.Deref(text, "")) }

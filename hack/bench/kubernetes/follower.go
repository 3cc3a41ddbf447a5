package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// version is a version of a route from the API server.
type version struct {
	generation int64
	programmed int64 // the generation that its proxies have acknowledged, as its status says
	at         time.Time
}

// follower receives the versions of one route.
type follower struct{ versions chan version }

// follow watches a route until ctx ends.
func (s *stage) follow(ctx context.Context, route string) (*follower, error) {
	watch, err := s.api.GatewayV1().HTTPRoutes(namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, route).String(),
	})
	if err != nil {
		return nil, err
	}
	f := &follower{versions: make(chan version, 1000)}
	go func() {
		defer close(f.versions)
		defer watch.Stop()
		for event := range watch.ResultChan() {
			if r, is := event.Object.(*gatewayv1.HTTPRoute); is {
				select {
				case f.versions <- version{r.Generation, programmed(r), time.Now()}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return f, nil
}

// programmed is the generation that a route's proxies have acknowledged, 0 for none.
func programmed(r *gatewayv1.HTTPRoute) int64 {
	for _, p := range r.Status.Parents {
		if c := meta.FindStatusCondition(p.Conditions, "cardea.dev/Programmed"); c != nil &&
			c.Status == metav1.ConditionTrue {
			return c.ObservedGeneration
		}
	}
	return 0
}

// made waits for a generation, acked for its acknowledgement in the status. They return when the API server reported
// it.
func (f *follower) made(generation int64) (time.Time, error) {
	return f.until(fmt.Sprintf("generation %d", generation), func(v version) bool { return v.generation >= generation })
}

func (f *follower) acked(generation int64) (time.Time, error) {
	return f.until(fmt.Sprintf("Programmed of generation %d", generation),
		func(v version) bool { return v.programmed >= generation })
}

func (f *follower) until(what string, holds func(version) bool) (time.Time, error) {
	late := time.After(stepTimeout)
	for {
		select {
		case v, open := <-f.versions:
			if !open {
				return time.Time{}, errors.New("the API server has ended the watch of a route")
			}
			if holds(v) {
				return v.at, nil
			}
		case <-late:
			return time.Time{}, fmt.Errorf("%s of a route was not reported", what)
		}
	}
}

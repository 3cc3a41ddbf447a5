package main

import (
	"encoding/json"
	"errors"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/hack/bench/scene"
)

// acks sees in the status of the edited route which generation Envoy has acknowledged.
type acks struct {
	child *child.Child
	last  int64 // the last generation that was
}

// errPending is an edit that is not acknowledged yet.
var errPending = errors.New("the edit is not acknowledged")

// begin waits until the route is acknowledged.
func (a *acks) begin() error { return a.next() }

// next waits until a newer generation is acknowledged.
func (a *acks) next() error {
	for end := time.Now().Add(child.WaitTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		generation, err := a.look()
		if err != nil && !errors.Is(err, errPending) {
			return err
		}
		if err == nil && generation > a.last {
			a.last = generation
			return nil
		}
	}
	return errPending
}

// look is the generation of the route, if it is acknowledged.
func (a *acks) look() (int64, error) {
	body, err := a.child.Get("/objects/httproute/bench/" + scene.Name(0))
	if err != nil {
		return 0, err
	}
	var o struct {
		Metadata struct{ Generation int64 }
		Status   struct {
			Parents []struct {
				Conditions []struct {
					Type, Status       string
					ObservedGeneration int64
				}
			}
		}
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return 0, err
	}
	for _, p := range o.Status.Parents {
		for _, k := range p.Conditions {
			if k.Type == "cardea.dev/Programmed" && k.Status == "True" && k.ObservedGeneration == o.Metadata.Generation {
				return o.Metadata.Generation, nil
			}
		}
	}
	return 0, errPending
}

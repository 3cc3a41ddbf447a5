package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cardea.dev/cardea/internal/test/promtext"
)

// figures reads the metrics of Cardea.
func (r running) figures(ctx context.Context) (promtext.Samples, error) {
	text, err := r.get(ctx, "/metrics")
	return promtext.Read(text), err
}

// counts are what Cardea and the API server have counted.
type counts struct{ cardea, server promtext.Samples }

func (s *stage) counts(ctx context.Context, r running) (c counts, err error) {
	if c.cardea, err = r.figures(ctx); err != nil {
		return c, err
	}
	text, err := s.Client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	c.server = promtext.Read(text)
	return c, err
}

// Counters that show the effects of an edit.
const (
	statusWrites = "cardea_status_writes_total"
	sentBytes    = "cardea_xds_bytes_total"
	sent         = "cardea_xds_resources_total"
	acks         = "cardea_xds_acks_total"
	turns        = "cardea_flow_turns_total"
	runs         = "cardea_flow_runs_total"
	requests     = "apiserver_request_total"
	// From the turn that changed a resource to the ACK, in seconds.
	tookSum    = "cardea_xds_edit_to_ack_seconds_sum"
	tookCount  = "cardea_xds_edit_to_ack_seconds_count"
	routesType = `type="Routes"`
)

// written are statuses that Cardea has written; others are statuses that need not be written, or could not be.
func (c counts) written() float64 { return c.cardea.Sum(statusWrites, `result="written"`) }

func (c counts) others() float64 { return c.cardea.Sum(statusWrites) - c.written() }

// patched are status writes of all clients that the API server has answered.
func (c counts) patched(resource string) float64 {
	return c.server.Sum(requests, `resource="`+resource+`"`, `subresource="status"`)
}

// quiet returns when Cardea is ready and has no work left.
func (s *stage) quiet(ctx context.Context) error {
	if _, err := s.cardea(ctx); err != nil {
		return err
	}
	var last string
	same := 0
	return until(ctx, "Cardea comes to rest", 250*time.Millisecond, func() error {
		r, err := s.cardea(ctx)
		if err != nil {
			return err
		}
		f, err := r.figures(ctx)
		if err != nil {
			return err
		}
		now := fmt.Sprint(f.Sum("cardea_xds_streams"), f.Sum("cardea_status_queue"), f.Sum(turns), f.Sum(acks),
			f.Sum(statusWrites))
		if same++; now != last {
			last, same = now, 0
		}
		switch {
		case f.Sum("cardea_xds_streams") != 1:
			return fmt.Errorf("%v proxies are connected", f.Sum("cardea_xds_streams"))
		case f.Sum("cardea_status_queue") > 0:
			return fmt.Errorf("%v statuses are to be written", f.Sum("cardea_status_queue"))
		case same < 6:
			return errors.New("it is busy")
		}
		return nil
	})
}

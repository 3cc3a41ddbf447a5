package xds

import (
	"fmt"
	"testing"
	"time"

	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestConnectionsEndAtTheirAge: a proxy has to show again and again who it is. It loses nothing by that: no request, no
// edit, and what it has is not sent again.
func TestConnectionsEndAtTheirAge(t *testing.T) {
	w, _, port := simple(t)
	f := startTraffic(port, "x.test", "y.test")
	f.called(t, 100)
	w.grpc.Stop() // from here on connections get old
	w.age = 200 * time.Millisecond
	w.listen()
	first, sent := w.asked.Load(), w.metrics()["cardea_xds_resources_total/Cluster"]
	for i := 0; w.asked.Load() < first+5; i++ {
		edited := []host{{"*", []hostRule{{name: "edit", prefix: "edit", body: fmt.Sprint(i)}, {name: "all", cluster: "a"}}}}
		w.turn(func(e edits) { e.set(xdstypes.Routes, "t", table("t", edited, nil)) })
		answers(t, port, "x.test", "/edit", fmt.Sprintf("200 %d", i))
	}
	f.stop(t)
	if n := w.metrics()["cardea_xds_resources_total/Cluster"]; n != sent {
		t.Errorf("%v clusters were sent, though none has changed", n-sent)
	}
	if got := w.refusals(); len(got) > 0 {
		t.Errorf("refused: %v", got)
	}
}

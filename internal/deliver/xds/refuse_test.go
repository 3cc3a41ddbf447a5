package xds

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// A trial that the proxy does not take is over: all that is new is rejected together, whatever else has it.
func TestATrialThatIsRefused(t *testing.T) {
	c := newCore()
	var bad []string
	for i := range 50 {
		bad = append(bad, fmt.Sprintf("r%d.1", i))
	}
	for _, lines := range []string{
		"turn\nListener l=1 needs=Routes/t\nRoutes t=0 parts=h1:good.1\nRoutes u=1 parts=h1:r7.1,h2:r7.1",
		"connect p", "p asks Cluster", "p asks Listener", "p asks Routes t", "p acks 1 2 3",
		"turn\nRoutes t=1 parts=h1:" + strings.Join(bad, "+"),
		"p nacks 4 no", "p nacks 5 no",
	} {
		c.run(t, strings.Split(lines, "\n"))
	}
	if got := len(c.set.rejections); got != 50 {
		t.Fatalf("%d fragments are refused", got)
	}
}

// A refused listener that two sections made is one line, and the words are without the new line at their end.
func TestRefusalIsLoggedOncePerResource(t *testing.T) {
	w := newWorld(t)
	var out bytes.Buffer
	w.server.cfg.Log = slog.New(slog.NewTextHandler(&out, nil))
	r := listener("80", 80, "t")
	two := *r.Parts[0]
	two.Fragments = nil
	for _, section := range []string{"http", "shop"} {
		two.Fragments = append(two.Fragments, resource.Fragment{Origin: resource.Origin{Object: gateway, Section: section},
			Hash: 1})
	}
	r.Parts = []*resource.Part{&two}
	w.server.applyTurn(gateway, []update{{resource.Name{Type: xdstypes.Listener, Name: "80"}, &r}}, 0, w.server.cfg.Now())
	st, _ := w.server.joinProxy(gateway, "p", "1.40.0", func() {})
	sent, _, _ := w.server.stepStream(st, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: xdstypes.URL(xdstypes.Listener)})
	w.server.stepStream(st, &discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: xdstypes.URL(xdstypes.Listener), ResponseNonce: sent[0].nonce,
		ErrorDetail: &statuspb.Status{Message: "Error adding/updating listener(s) 80: cannot bind\n"},
	})
	w.server.removeProxy(st)
	_, got, _ := strings.Cut(out.String(), "level=")
	want := `WARN msg="rejected by proxy" gateway="` + gateway.String() + `" type=Listener name=80 ` +
		`said="Error adding/updating listener(s) 80: cannot bind" count=2 origins="[` + gateway.String() + `#http ` +
		gateway.String() + `#shop]"` + "\n"
	if got != want {
		t.Errorf("logged\n%swant\n%s", got, want)
	}
}

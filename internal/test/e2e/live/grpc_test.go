package live

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"cardea.dev/cardea/internal/app/standalone"
)

// TestLongGRPCStreamSurvivesEdits holds a stream of a real gRPC client open, with a message each way after every edit
// of something else: other routes, other services, other listeners. At its end come the backend's trailers.
func TestLongGRPCStreamSurvivesEdits(t *testing.T) {
	t.Parallel()
	work := filepath.Join(t.TempDir(), "w")
	s := open(t, shop(), func(o *standalone.Options) { o.WorkDir = work })
	s.write("calls.yaml", grpcRouteFile("calls", "calls.example", to("blue")))
	s.soon("GRPC http://calls.example/a.Shop/Watch -> OK blue")
	conn := s.dialGRPC(t, "calls.example")
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/a.Shop/Watch")
	if err != nil {
		t.Fatal(err)
	}
	exchange := func(after string) {
		t.Helper()
		var seen struct{ Name string }
		if err := stream.SendMsg(json.RawMessage("{}")); err != nil {
			t.Fatalf("send after %s: %v", after, err)
		}
		if err := stream.RecvMsg(&seen); err != nil || seen.Name != "blue" {
			t.Fatalf("after %s: %q, %v", after, seen.Name, err)
		}
	}
	exchange("the start")
	for i := range 5 {
		for _, service := range []string{"green", "blue"} {
			s.write("route.yaml", routeFile("web", "shop.example", to(service)))
			s.soon("GET http://shop.example/ -> 200 " + service)
			exchange("an HTTPRoute changed")
		}
		s.write("extra.yaml", grpcRouteFile("extra", "extra.example", to("green")))
		s.soon("GRPC http://extra.example/a.Shop/Get -> OK green")
		exchange("a GRPCRoute came")
		s.write("gateway.yaml", gatewayFile(80, 90+i))
		s.soon(fmt.Sprintf("GRPC http://extra.example:%d/a.Shop/Get -> OK green", 90+i))
		exchange("a listener came")
		s.remove("extra.yaml")
		s.soon("GRPC http://extra.example/a.Shop/Get -> UNIMPLEMENTED")
		exchange("a GRPCRoute went")
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var none json.RawMessage
	if err := stream.RecvMsg(&none); err != io.EOF || len(stream.Trailer().Get("cost")) != 1 {
		t.Errorf("the stream ends with %v and trailers %v", err, stream.Trailer())
	}
	drainedNothing(t, work)
}

// TestShareOfInvalidGRPCBackend: of two backends of which one does not resolve, each gets half; what the second would
// get is UNAVAILABLE.
func TestShareOfInvalidGRPCBackend(t *testing.T) {
	t.Parallel()
	s := open(t, shop())
	filters := `filters: [{type: RequestHeaderModifier, requestHeaderModifier: {remove: [x]}}]`
	s.write("calls.yaml", grpcRouteFile("calls", "calls.example",
		"{matches: [{method: {service: a.Plain}}], backendRefs: [{name: blue, port: 80}, {name: missing, port: 80}]}",
		"{matches: [{method: {service: a.Filtered}}], backendRefs: [{name: blue, port: 80, "+filters+
			"}, {name: missing, port: 80}]}",
		"{matches: [{method: {service: a.Ready}}], backendRefs: [{name: blue, port: 80}]}"))
	s.soon("GRPC http://calls.example/a.Ready/Get -> OK blue")
	conn := s.dialGRPC(t, "calls.example")
	for _, method := range []string{"/a.Plain/Get", "/a.Filtered/Get"} {
		answers := map[codes.Code]int{}
		for range 100 {
			var seen json.RawMessage
			answers[status.Code(conn.Invoke(t.Context(), method, json.RawMessage("{}"), &seen))]++
		}
		// 100 calls: 20 are four standard deviations.
		if n := answers[codes.OK]; n < 30 || n > 70 || n+answers[codes.Unavailable] != 100 {
			t.Errorf("%s: %v, want half of them OK, half Unavailable", method, answers)
		}
	}
}

// dialGRPC connects a real gRPC client, whose messages are JSON, to port 80.
func (s *stage) dialGRPC(t *testing.T, host string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(fmt.Sprintf("passthrough:///%s:%d", s.Address, e2e.Offset+80), grpc.WithAuthority(host),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(e2e.AsJSON{})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func grpcRouteFile(name, host string, rules ...string) string {
	return strings.Replace(routeFile(name, host, rules...), "kind: HTTPRoute", "kind: GRPCRoute", 1)
}

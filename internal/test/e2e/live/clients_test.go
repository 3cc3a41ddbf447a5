package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"github.com/gorilla/websocket"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"cardea.dev/cardea/internal/app/standalone"
)

// clientStage is a server of WebSockets and one of gRPC: behind Services, behind pools with Cardea's picker, and behind
// pools with a picker of others.
type clientStage struct {
	*stage
	calls *testService
}

// openClients serves ways to both servers at the hosts WAY.ws.example and WAY.grpc.example; the ways are "service",
// "pool", and those to pools with a picker of others: "duplex" (FailOpen, FullDuplex), "partial" (FailClose,
// BufferedPartial).
func openClients(t *testing.T) *clientStage {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	s := &clientStage{stage: prepare(t, t.TempDir(), ""), calls: &testService{waits: make(chan struct{}, 1),
		left: make(chan error, 1)}}
	sockets := httptest.NewServer(http.HandlerFunc(echoMessages))
	t.Cleanup(sockets.Close)
	s.ports["ws"] = sockets.Listener.Addr().(*net.TCPAddr).Port
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	grpc_testing.RegisterTestServiceServer(server, s.calls)
	go func() { _ = server.Serve(l) }() // it ends with the test
	t.Cleanup(server.Stop)
	s.ports["grpc"] = l.Addr().(*net.TCPAddr).Port
	picker := e2e.StartPicker(t)
	objects := gatewayFile(80) + "---\n" + pickerFile("picker", picker.Port)
	for name, protocol := range map[string]string{"ws": "http", "grpc": "kubernetes.io/h2c"} {
		route := routeFile
		if name == "grpc" {
			route = grpcRouteFile
		}
		objects += fmt.Sprintf(protocolService, name+", namespace: shop", protocol, s.ports[name])
		objects += "---\n" + route(name+"-service", "service."+name+".example", to(name))
		for pool, spec := range map[string]string{
			"pool":    "",
			"duplex":  ", endpointPickerRef: {name: picker, port: {number: 9002}, failureMode: FailOpen}",
			"partial": ", endpointPickerRef: {name: picker, port: {number: 9002}, failureMode: FailClose}",
		} {
			objects += fmt.Sprintf("---\napiVersion: inference.networking.k8s.io/v1\nkind: InferencePool\n"+
				"metadata: {name: %[1]s-%[2]s, namespace: shop, annotations: "+
				"{inference.cardea.dev/picker-body: %[6]s}}\nspec: {selector: {matchLabels: {app: models}}, "+
				"targetPorts: [{number: %[3]d}], appProtocol: %[4]s%[5]s}\n---\n"+
				"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %[1]s-%[2]s, namespace: shop, "+
				"labels: {cardea.dev/inferencepool: %[1]s-%[2]s}}\naddressType: IPv4\n"+
				"endpoints: [{addresses: [127.0.0.1]}]\nports: []\n---\n", name, pool, s.ports[name], protocol, spec,
				map[bool]string{false: "FullDuplex", true: "BufferedPartial"}[pool == "partial"])
			objects += route(name+"-"+pool, pool+"."+name+".example",
				"backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: "+name+"-"+pool+"}]")
		}
	}
	s.write("objects.yaml", objects)
	work, err := os.MkdirTemp("", "e2e-") // not t.TempDir: a Unix socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	s.start(func(o *standalone.Options) { o.Pickers, o.PickerProgram, o.WorkDir = true, program, work })
	s.Ready(t)
	return s
}

// asks waits until the proxy asks the picker of a pool about a call.
func (s *clientStage) asks(pool string, call func() error) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error {
		if err := call(); err != nil {
			return err
		}
		if n := s.picksOf(pool); n < 1 {
			return fmt.Errorf("the picker was asked %d times", n)
		}
		return nil
	})
}

// echoMessages is a server of WebSockets that sends each message back, and closes as its client asks for.
func echoMessages(w http.ResponseWriter, r *http.Request) {
	conn, err := (&websocket.Upgrader{Subprotocols: []string{"echo"}}).Upgrade(w, r, nil)
	if err != nil {
		return // the client has the answer
	}
	defer conn.Close()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil || conn.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// dialWebSocket connects a client to a host at port 80.
func (s *clientStage) dialWebSocket(ctx context.Context, host string, header http.Header) (*websocket.Conn, error) {
	dialer := websocket.Dialer{Subprotocols: []string{"echo"},
		NetDialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.at(80))
		}}
	conn, answer, err := dialer.DialContext(ctx, "ws://"+host+"/chat", header)
	if err != nil && answer != nil {
		err = fmt.Errorf("%w: %s", err, answer.Status)
	}
	return conn, err
}

// TestWebSocketClients: a client of a library talks to a server of it, through a Service and pools: what they agree on,
// texts and bytes of any size, pings, and how they part. Whatever the picker waits for, there is an answer.
func TestWebSocketClients(t *testing.T) {
	t.Parallel()
	s := openClients(t)
	s.asks("ws-pool", func() error {
		conn, err := s.dialWebSocket(t.Context(), "pool.ws.example", nil)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	to := fmt.Sprintf("127.0.0.1:%d", s.ports["ws"])
	early, late := http.Header{"X-Pick": {to}, "X-Pick-When": {"early"}}, http.Header{"X-Pick": {to}}
	silent := http.Header{"X-Pick-Fault": {"hang"}}
	for name, c := range map[string]struct {
		way    string
		header http.Header
		status string // that refuses it; "": it is served
	}{
		"a Service": {"service", nil, ""}, "Cardea's picker": {"pool", nil, ""},
		"a picker that answers at the head": {"duplex", early, ""}, "one that is sent first parts": {"partial", early, ""},
		"one that waits for a body, or the proxy": {"duplex", late, ""},
		"one that waits for a body":               {"partial", late, "503"},
		"one that says nothing, or the proxy":     {"duplex", silent, ""},
		"one that says nothing":                   {"partial", silent, "504"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), e2e.WaitTimeout)
			defer stop()
			conn, err := s.dialWebSocket(ctx, c.way+".ws.example", c.header)
			if c.status != "" {
				if err == nil || !strings.Contains(err.Error(), c.status) {
					t.Errorf("%v, want %s", err, c.status)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if got := conn.Subprotocol(); got != "echo" {
				t.Errorf("subprotocol %q, want echo", got)
			}
			pongs := make(chan string, 1)
			conn.SetPongHandler(func(data string) error { pongs <- data; return nil })
			if err := conn.WriteMessage(websocket.PingMessage, []byte("here")); err != nil {
				t.Fatal(err)
			}
			for kind, want := range map[int][]byte{
				websocket.TextMessage: []byte("hello"), websocket.BinaryMessage: make([]byte, 300_000),
			} {
				if err := conn.WriteMessage(kind, want); err != nil {
					t.Fatal(err)
				}
				if got, message, err := conn.ReadMessage(); err != nil || got != kind || !slices.Equal(message, want) {
					t.Errorf("%d bytes of kind %d (%v), want %d of kind %d", len(message), got, err, len(want), kind)
				}
			}
			if got := <-pongs; got != "here" { // it was read before the messages
				t.Errorf("pong %q", got)
			}
			parting := websocket.FormatCloseMessage(4001, "enough")
			if err := conn.WriteMessage(websocket.CloseMessage, parting); err != nil {
				t.Fatal(err)
			}
			if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, 4001) {
				t.Errorf("the end is %v, want code 4001", err)
			}
		})
	}
}

// testService is the server of grpc-go's own tests. A call of which no size is asked waits until its client has left.
type testService struct {
	grpc_testing.UnimplementedTestServiceServer
	waits chan struct{} // a message for each call that waits
	left  chan error    // why it ended
}

// UnaryCall implements the service. An error has details.
func (s *testService) UnaryCall(
	ctx context.Context, r *grpc_testing.SimpleRequest,
) (*grpc_testing.SimpleResponse, error) {
	switch asked := r.GetResponseStatus(); {
	case asked != nil:
		answer, err := status.New(codes.Code(asked.GetCode()), asked.GetMessage()).WithDetails(
			&errdetails.ErrorInfo{Reason: "ASKED_FOR", Domain: "a.example", Metadata: map[string]string{"text": "ä %\n"}})
		if err != nil {
			return nil, err
		}
		return nil, answer.Err()
	case r.GetResponseSize() == 0:
		_, limited := ctx.Deadline()
		s.waits <- struct{}{}
		<-ctx.Done()
		s.left <- fmt.Errorf("%w, with a deadline: %v", ctx.Err(), limited)
		return nil, ctx.Err()
	}
	return &grpc_testing.SimpleResponse{Payload: &grpc_testing.Payload{Body: make([]byte, r.GetResponseSize())}}, nil
}

// FullDuplexCall implements the service: each message is answered before the next one is read.
func (s *testService) FullDuplexCall(stream grpc_testing.TestService_FullDuplexCallServer) error {
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(&grpc_testing.StreamingOutputCallResponse{Payload: message.GetPayload()}); err != nil {
			return err
		}
	}
}

// TestGRPCClients: a client of grpc-go calls a server of it, through a Service and a pool: one message each way, a
// stream both ways, errors with details, a deadline, and a call that its client leaves.
func TestGRPCClients(t *testing.T) {
	t.Parallel()
	s := openClients(t)
	for _, way := range []string{"service", "pool"} {
		t.Run(way, func(t *testing.T) {
			conn, err := grpc.NewClient("passthrough:///"+s.at(80), grpc.WithAuthority(way+".grpc.example"),
				grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			client := grpc_testing.NewTestServiceClient(conn)
			ctx, stop := context.WithTimeout(t.Context(), e2e.WaitTimeout)
			defer stop()
			const size = 300_000
			if way == "pool" {
				s.asks("grpc-pool", func() error {
					_, err := client.UnaryCall(ctx, &grpc_testing.SimpleRequest{ResponseSize: 1})
					return err
				})
			}
			answer, err := client.UnaryCall(ctx, &grpc_testing.SimpleRequest{ResponseSize: size,
				Payload: &grpc_testing.Payload{Body: make([]byte, size)}})
			if err != nil || len(answer.GetPayload().GetBody()) != size {
				t.Errorf("%d bytes, %v", len(answer.GetPayload().GetBody()), err)
			}
			exchange(t, ctx, client)

			_, err = client.UnaryCall(ctx, &grpc_testing.SimpleRequest{
				ResponseStatus: &grpc_testing.EchoStatus{Code: int32(codes.FailedPrecondition), Message: "not ä yet"},
			})
			failed := status.Convert(err)
			var info *errdetails.ErrorInfo
			if len(failed.Details()) == 1 {
				info, _ = failed.Details()[0].(*errdetails.ErrorInfo)
			}
			if failed.Code() != codes.FailedPrecondition || failed.Message() != "not ä yet" ||
				info.GetMetadata()["text"] != "ä %\n" {
				t.Errorf("%v with %v", failed, failed.Details())
			}

			brief, end := context.WithTimeout(ctx, e2e.WaitTimeout/100)
			defer end()
			if _, err := client.UnaryCall(brief, &grpc_testing.SimpleRequest{}); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("after the deadline: %v", err)
			}
			<-s.calls.waits
			if err := <-s.calls.left; err.Error() != "context deadline exceeded, with a deadline: true" &&
				err.Error() != "context canceled, with a deadline: true" { // who notices first
				t.Errorf("the server was told: %v", err)
			}

			leaving, leave := context.WithCancel(ctx)
			ended := make(chan error, 1)
			go func() {
				_, err := client.UnaryCall(leaving, &grpc_testing.SimpleRequest{})
				ended <- err
			}()
			<-s.calls.waits
			leave()
			if err := <-ended; status.Code(err) != codes.Canceled {
				t.Errorf("after the client left: %v", err)
			}
			if err := <-s.calls.left; !errors.Is(err, context.Canceled) {
				t.Errorf("the server was told: %v", err)
			}
		})
	}
}

// exchange sends messages of a stream, each after the answer to the one before.
func exchange(t *testing.T, ctx context.Context, client grpc_testing.TestServiceClient) {
	t.Helper()
	stream, err := client.FullDuplexCall(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		sent := &grpc_testing.StreamingOutputCallRequest{Payload: &grpc_testing.Payload{Body: []byte{byte(i)}}}
		if err := stream.Send(sent); err != nil {
			t.Fatal(err)
		}
		got, err := stream.Recv()
		if err != nil || !slices.Equal(got.GetPayload().GetBody(), []byte{byte(i)}) {
			t.Fatalf("message %d: %v, %v", i, got, err)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != io.EOF {
		t.Errorf("the stream ends with %v", err)
	}
}

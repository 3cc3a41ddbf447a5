package live

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	logsv1 "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"cardea.dev/cardea/internal/app/standalone"
)

// TestAccessLogs: logs of a ClientPolicy go to files and servers, which get the requests that they ask for.
func TestAccessLogs(t *testing.T) {
	t.Parallel()
	dir, server := t.TempDir(), startLogServer(t)
	own := filepath.Join(dir, "own.log")
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80), "blue.yaml", serviceFile("blue", "blue"),
		"route.yaml", routeFile("web", "shop.example", ruleAt("a"), ruleAt("b")),
		"broken.yaml", routeFile("broken", "broken.example", to("nobody")), "logs.yaml", serviceOn("logs", server.port)))
	s.write("policy.yaml", strings.NewReplacer("DIR", dir).Replace(accessLogsPolicy))
	s.start(func(o *standalone.Options) { o.AccessLog = own })
	s.Ready(t)
	s.expect("GET http://shop.example/a?token=secret -> 200 blue\nPOST http://shop.example/b -> 200 blue\n" +
		"GET http://broken.example/ -> 500\nGET http://none.example/ -> 404")
	for file, want := range map[string]string{
		"text": "GET /a 200 shop.example\nPOST /b 200 shop.example\nGET / 500 broken.example\nGET / 404 none.example\n",
		"json": `{"code":200,"verb":"POST"}` + "\n",
		"bad":  "500\n404\n",
		"flag": "404\n",
		"slow": "",
	} {
		e2e.Eventually(t, func() error {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err == nil && string(text) != want {
				err = fmt.Errorf("%s has %q, want %q", file, text, want)
			}
			return err
		})
	}
	e2e.Eventually(t, func() error {
		return server.has("otlp cardea-test GET / 500 route=HTTPRoute shop/broken",
			"otlp cardea-test POST /b 200 route=HTTPRoute shop/web",
			"grpc audit httproute/shop/web/a 200 via_upstream", "grpc audit  404 route_not_found")
	})
	if text, _ := os.ReadFile(own); len(text) > 0 {
		t.Errorf("Cardea's own log is written besides: %s", text)
	}

	// A server that is gone costs no request; neither do logs that are turned off.
	server.stop()
	s.expect("GET http://shop.example/a -> 200 blue")
	s.write("policy.yaml", `apiVersion: cardea.dev/v1alpha1
kind: ClientPolicy
metadata: {name: logs, namespace: shop}
spec: {targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}], disable: [accessLogs]}
`)
	s.says("clientpolicy/shop/logs", "web: cardea.dev/Programmed=True")
	s.expect("GET http://shop.example/b -> 200 blue")
	if text, _ := os.ReadFile(own); len(text) > 0 {
		t.Errorf("a log that is turned off is written: %s", text)
	}
	s.remove("policy.yaml")
	e2e.Eventually(t, func() error {
		if err := s.try("GET http://shop.example/a -> 200 blue"); err != nil {
			return err
		}
		lines, err := logged(own)
		if err == nil && len(lines["a"]) == 0 {
			err = fmt.Errorf("Cardea's own log is not written: %v", lines)
		}
		return err
	})
}

// TestALogWhoseFolderComes: what can't be written is left out, everything else is served, and when the folder is there
// the log is written.
func TestALogWhoseFolderComes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "later")
	s := prepare(t, t.TempDir(), shop())
	s.write("policy.yaml", clientPolicy("logs", "accessLogs: [{name: late, file: {path: "+dir+"/access.log}}]"))
	s.start()
	s.Ready(t)
	s.expect("GET http://shop.example/ -> 200 blue")
	e2e.Eventually(t, func() error { return s.finds(true, "folder "+dir+" does not exist; make it") })
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s.calm()
	e2e.Eventually(t, func() error {
		if err := s.try("GET http://shop.example/ -> 200 blue"); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, "access.log"))
		if err == nil && len(text) == 0 {
			err = fmt.Errorf("nothing is logged")
		}
		return err
	})
}

const accessLogsPolicy = `apiVersion: cardea.dev/v1alpha1
kind: ClientPolicy
metadata: {name: logs, namespace: shop}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: Gateway, name: web}]
  accessLogs:
  - {name: text, file: {path: DIR/text}, format: {text: "%REQ(:METHOD)% %PATH(NQ)% %RESPONSE_CODE% %REQ(:AUTHORITY)%"}}
  - name: json
    file: {path: DIR/json}
    format: {json: {verb: "%REQ(:METHOD)%", code: "%RESPONSE_CODE%", none: "%REQ(x-none)%"}}
    when: {request: {methods: [POST]}}
  - {name: bad, file: {path: DIR/bad}, format: {text: "%RESPONSE_CODE%"}, when: {status: ["404", 5xx]}}
  - {name: flag, file: {path: DIR/flag}, format: {text: "%RESPONSE_CODE%"}, when: {flags: [NR, UH]}}
  - {name: slow, file: {path: DIR/slow}, when: {minDuration: 1h}}
  - {name: audit, grpc: {backendRef: {name: logs, port: 80}}}
  - {name: otel, openTelemetry: {backendRef: {name: logs, port: 80}, resource: {service.name: cardea-test}}}
`

// serviceOn is a Service in namespace shop with an endpoint on this machine.
func serviceOn(name string, port int) string {
	return strings.ReplaceAll(serviceFile(name, name), "${"+name+"}", fmt.Sprint(port))
}

// logServer takes logs of both kinds, and keeps a line of each.
type logServer struct {
	accesslogv3.UnimplementedAccessLogServiceServer
	port int
	stop func()

	mu    sync.Mutex
	lines []string
}

func startLogServer(t *testing.T) *logServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, server := &logServer{port: l.Addr().(*net.TCPAddr).Port}, grpc.NewServer()
	accesslogv3.RegisterAccessLogServiceServer(server, s)
	server.RegisterService(otlpLogs(s), s)
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(l) })
	s.stop = func() {
		server.Stop()
		done.Wait()
	}
	t.Cleanup(s.stop)
	return s
}

// StreamAccessLogs implements Envoy's access log service.
func (s *logServer) StreamAccessLogs(stream accesslogv3.AccessLogService_StreamAccessLogsServer) error {
	name := ""
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil
		}
		if id := m.GetIdentifier(); id != nil {
			name = id.GetLogName()
		}
		for _, e := range m.GetHttpLogs().GetLogEntry() {
			s.add(fmt.Sprintf("grpc %s %s %d %s", name, e.GetCommonProperties().GetRouteName(),
				e.GetResponse().GetResponseCode().GetValue(), e.GetResponse().GetResponseCodeDetails()))
		}
	}
}

// otlpLogs is the service of OTLP that takes logs. Its request has the form of LogsData, and its answer is empty; the
// generated service would bring grpc-gateway along.
func otlpLogs(s *logServer) *grpc.ServiceDesc {
	export := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		logs := new(logsv1.LogsData)
		if err := decode(logs); err != nil {
			return nil, err
		}
		s.export(logs)
		return new(emptypb.Empty), nil
	}
	return &grpc.ServiceDesc{
		ServiceName: "opentelemetry.proto.collector.logs.v1.LogsService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Export", Handler: export}},
	}
}

func (s *logServer) export(r *logsv1.LogsData) {
	for _, of := range r.GetResourceLogs() {
		service := ""
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				service = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range of.GetScopeLogs() {
			for _, record := range scope.GetLogRecords() {
				line := "otlp " + service + " " + record.GetBody().GetStringValue()
				for _, a := range record.GetAttributes() {
					if a.GetKey() == "route" {
						line += " route=" + a.GetValue().GetStringValue()
					}
				}
				s.add(line)
			}
		}
	}
}

func (s *logServer) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
}

func (s *logServer) has(want ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range want {
		if !slices.Contains(s.lines, line) {
			return fmt.Errorf("the server did not get %q; it has %q", line, s.lines)
		}
	}
	return nil
}

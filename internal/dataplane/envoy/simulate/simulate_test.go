package simulate

import (
	"flag"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"           // the scripts name it
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/connection_limit/v3" // and this
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect; inspect the diff")

// TestScripts runs each txtar of testdata: resources, one a file named TYPE.NAME.yaml, and calls, a line each:
//
//	METHOD URL [name:value]... -> what comes of it, as tell tells it
//	SEND tcp://HOST, tls://HOST or udp://HOST -> the same of a connection; HOST - asks for no server name
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { script(t, path) })
	}
}

func script(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := New()
	for i, f := range archive.Files {
		if f.Name != "calls" {
			addFile(t, c, f)
			continue
		}
		var got strings.Builder
		for line := range strings.Lines(string(f.Data)) {
			call, _, ok := strings.Cut(line, " -> ")
			if !ok {
				got.WriteString(line)
				continue
			}
			fmt.Fprintf(&got, "%s -> %s\n", call, tell(simulateCall(t, c, call)))
		}
		if got.String() == string(f.Data) {
			continue
		}
		if !*update {
			t.Errorf("calls:\n%s\nwant:\n%s", got.String(), f.Data)
			continue
		}
		archive.Files[i].Data = []byte(got.String())
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func addFile(t *testing.T, c *Config, f txtar.File) {
	t.Helper()
	kind, name, _ := strings.Cut(strings.TrimSuffix(f.Name, ".yaml"), ".")
	types := map[string]struct {
		t resource.Type
		m proto.Message
	}{
		"listener":  {xdstypes.Listener, new(listenerv3.Listener)},
		"routes":    {xdstypes.Routes, new(routev3.RouteConfiguration)},
		"cluster":   {xdstypes.Cluster, new(clusterv3.Cluster)},
		"endpoints": {xdstypes.Endpoints, new(endpointv3.ClusterLoadAssignment)},
		"secret":    {xdstypes.Secret, new(tlsv3.Secret)},
		"extension": {xdstypes.Extension, new(corev3.TypedExtensionConfig)},
	}
	of, ok := types[kind]
	if !ok {
		t.Fatalf("%s is of no type", f.Name)
	}
	text, err := yaml.YAMLToJSON(f.Data)
	if err == nil {
		err = protojson.Unmarshal(text, of.m)
	}
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	b, err := proto.Marshal(of.m)
	if err == nil {
		err = c.Add(of.t, name, b)
	}
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
}

// simulateCall simulates a call of a script; the port is 80. "SEND tcp://- from 10.0.0.1" states the client's address.
func simulateCall(t *testing.T, c *Config, call string) Result {
	t.Helper()
	target, is := strings.CutPrefix(call, "SEND ")
	if !is {
		return c.SimulateRequest(read(t, call))
	}
	scheme, host, _ := strings.Cut(target, "://")
	host, client, _ := strings.Cut(host, " from ")
	n := request.Connection{Port: 80, Datagrams: scheme == "udp", TLS: scheme == "tls"}
	if n.TLS && host != "-" {
		n.SNI = host
	}
	if client != "" {
		n.Client = netip.MustParseAddr(client)
	}
	return c.SimulateConnection(n)
}

// read reads "GET http://host/path name:value"; the port is 80, of https, too.
func read(t *testing.T, call string) request.Request {
	t.Helper()
	words := strings.Fields(call)
	scheme, rest, found := strings.Cut(words[1], "://")
	if !found || scheme != "http" && scheme != "https" {
		t.Fatalf("%s: want an http URL", call)
	}
	host, path, _ := strings.Cut(rest, "/")
	r := request.Request{Port: 80, Method: words[0], Host: host, Path: "/" + path, Header: http.Header{}}
	if scheme == "https" {
		r.TLS, r.SNI = true, host
	}
	for _, h := range words[2:] {
		name, value, _ := strings.Cut(h, ":")
		r.Header.Add(name, value)
	}
	return r
}

// tell tells a result in a line.
func tell(r Result) string {
	var words []string
	say := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	if r.SharedBy != "" {
		say("by %s:", r.SharedBy)
	}
	if r.Mismatch {
		say("mismatch")
	}
	if r.Closed != "" {
		say("closed: %s", r.Closed)
	}
	if r.Refused != "" {
		say("refused: %s:", r.Refused)
	}
	for _, o := range r.Outcomes {
		if o.Share < 1 {
			say("%.0f%%", 100*o.Share)
		}
		if o.Route != "" {
			say("%s", o.Route)
		}
		if o.Cluster != "" {
			say("%s %d endpoints", o.Cluster, len(o.Endpoints))
			if o.Session != "" {
				say("%v", o.Endpoints)
			}
		}
		if o.Locality != "" {
			say("%s %d endpoints", o.Locality, len(o.Endpoints))
		}
		if o.Effect.Closed != "" {
			say("closed: %s", o.Effect.Closed)
		}
		if o.Status != 0 {
			say("%d", o.Status)
		}
		for _, name := range request.HeaderNames(o.Header) {
			say("%s=%s", strings.ToLower(name), strings.Join(o.Header[name], ","))
		}
		if o.Request != nil {
			say("host=%s path=%s", o.Request.Host, o.Request.Path)
			for _, name := range request.HeaderNames(o.Request.Header) {
				value := o.Request.Header.Get(name)
				if every := name == "X-Forwarded-Proto" || value == request.GeneratedID || value == request.ClientAddress; !every {
					say("%s=%s", strings.ToLower(name), strings.Join(o.Request.Header[name], ","))
				}
			}
		}
		for _, e := range o.Response {
			say("(%s %s %s)", e.Action, e.Name, e.Value)
		}
		if o.Session != "" {
			say("kept by %s", o.Session)
		}
		if o.Unkept != "" {
			say("not kept by %s", o.Unkept)
		}
		if l := o.Limits; l.Total != 0 && l.Total != defaultTimeout || l.Attempt != 0 || l.Retries != 0 {
			say("within %s each %s retries %d on %v", l.Total, l.Attempt, l.Retries, l.On)
		}
		for _, m := range o.Mirrors {
			say("mirror %.0f%% %s", 100*m.Share, m.Cluster)
		}
	}
	for _, name := range r.NotSimulated {
		say("not simulated: %s", name)
	}
	if r.Undecided {
		say("undecided")
	}
	return strings.Join(words, " ")
}

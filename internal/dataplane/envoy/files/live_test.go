package files

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	jwtauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	localratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/deliver/filesync"
	"cardea.dev/cardea/internal/deliver/process"
)

// TestEntriesOfARealProxy: an Envoy that has read all of a step but nothing of the next one answers as a table says
// that names an entry: while the entry comes, while the table names it, and while another one takes its place.
func TestEntriesOfARealProxy(t *testing.T) {
	p := startProxy(t, entryResources(t, freePort(t), 0))
	for i := 1; i <= 3; i++ {
		want := entryResources(t, p.port, i)
		for {
			s, err := nextStep(p.start(), p.written, want)
			if err != nil {
				t.Fatal(err)
			}
			if s.Stage == dataplane.FilesCurrent {
				break
			}
			reloads := p.reloads(t)
			p.write(t, s.Files)
			switch s.Stage {
			case dataplane.FilesAdd, dataplane.FilesRemove: // of both extensions
				p.await(t, s.Stage.String(), func() bool { return p.reloads(t) == reloads+2 })
			case dataplane.FilesSwitch:
				p.await(t, s.Stage.String(), func() bool { return p.get(t) == fmt.Sprint("200 ", i) })
			}
			if got := p.get(t); got != fmt.Sprint("200 ", i-1) && got != fmt.Sprint("200 ", i) {
				t.Errorf("%d: after %s: %s", i, s.Stage, got)
			}
		}
	}
	for _, failed := range p.stats(t, `config_fail|config_conflict|update_rejected`) {
		if failed != 0 {
			t.Error("the proxy refused a file")
		}
	}
}

// entryResources are a listener, a table that names an entry of a number, and extensions that have this entry only.
func entryResources(t *testing.T, port uint32, number int) map[resource.Name]resource.Resource {
	t.Helper()
	ads := &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}}
	all := map[resource.Name]resource.Resource{}
	add := func(kind resource.Type, name string, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		all[resource.Name{Type: kind, Name: name}] = resource.JoinParts(&resource.Part{Bytes: [][]byte{b}})
	}
	entry := fmt.Sprint(entryPrefix, number)
	tokens, limits := world{tables: map[string][]string{"t": {entry}}}.extensions()
	tokens.RequirementMap[entry] = &jwtauthnv3.JwtRequirement{
		RequiresType: &jwtauthnv3.JwtRequirement_AllowMissingOrFailed{AllowMissingOrFailed: &emptypb.Empty{}},
	}
	limits.Descriptors = append(limits.Descriptors, proto.CloneOf(limits.Descriptors[0]))
	limits.Descriptors[1].Entries[0].Value = "every version's"
	limits.Descriptors[1].TokenBucket.MaxTokens += uint32(number)
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:     "test",
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{ConfigSource: ads, RouteConfigName: "t"}},
	}
	for name, config := range map[string]proto.Message{
		"jwt": &jwtauthnv3.JwtAuthentication{}, "limits": &localratelimitv3.LocalRateLimit{StatPrefix: "limits"},
	} {
		f := fromServer(name, ads)
		f.GetConfigDiscovery().DefaultConfig = pack(t, config)
		f.GetConfigDiscovery().TypeUrls = []string{string(config.ProtoReflect().Descriptor().FullName())}
		f.Disabled = true
		manager.HttpFilters = append(manager.HttpFilters, f)
	}
	add(xdstypes.Extension, "jwt", &corev3.TypedExtensionConfig{Name: "jwt", TypedConfig: pack(t, tokens)})
	add(xdstypes.Extension, "limits", &corev3.TypedExtensionConfig{Name: "limits", TypedConfig: pack(t, limits)})
	manager.HttpFilters = append(manager.HttpFilters, &hcmv3.HttpFilter{
		Name: "router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(t, &routerv3.Router{})},
	})
	add(xdstypes.Listener, "l", &listenerv3.Listener{
		Name: "l", Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
		}}},
		FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(t, manager)},
		}}}},
	})
	add(xdstypes.Routes, "t", &routev3.RouteConfiguration{Name: "t", VirtualHosts: []*routev3.VirtualHost{{
		Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
				Status: 200, Body: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: fmt.Sprint(number)}},
			}},
			TypedPerFilterConfig: map[string]*anypb.Any{
				"jwt": pack(t, &jwtauthnv3.PerRouteConfig{
					RequirementSpecifier: &jwtauthnv3.PerRouteConfig_RequirementName{RequirementName: entry},
				}),
				"limits": pack(t, &routev3.FilterConfig{Config: &anypb.Any{}}),
			},
		}},
	}}})
	return all
}

// proxy is a real Envoy that reads files.
type proxy struct {
	store   filesync.Folder
	written dataplane.FileSet
	port    uint32
	admin   *http.Client
}

var gateway = model.Ref(model.KindGateway, "shop", "web")

func (p *proxy) start() dataplane.FileFolders { return p.store.Folders(gateway) }

func (p *proxy) write(t *testing.T, files dataplane.FileSet) {
	t.Helper()
	if err := p.store.Write(t.Context(), gateway, files, time.Now()); err != nil {
		t.Fatal(err)
	}
	p.written = files
}

func freePort(t *testing.T) uint32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return uint32(l.Addr().(*net.TCPAddr).Port)
}

func startProxy(t *testing.T, all map[resource.Name]resource.Resource) *proxy {
	t.Helper()
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "envoy") // a Unix socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &proxy{store: filesync.Folder{Of: func(model.ObjectRef) string { return dir }}}
	p.port = portOf(t, all)
	s, err := nextStep(p.start(), dataplane.FileSet{}, all)
	if err != nil {
		t.Fatal(err)
	}
	p.write(t, s.Files)
	socket := filepath.Join(dir, "admin")
	d := Dialect()
	files, err := d.Child.Files(dataplane.ChildOptions{Node: "test", AdminSocket: socket, Files: p.start()})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), withAllStatistics(t, text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, d.Child.Arguments(dir, 1)...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	p.admin = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	t.Cleanup(p.admin.CloseIdleConnections)
	p.await(t, "the start", func() bool { return p.get(t) == "200 0" })
	return p
}

// withAllStatistics is a bootstrap that keeps those of extensions too.
func withAllStatistics(t *testing.T, text []byte) []byte {
	t.Helper()
	b := new(bootstrapv3.Bootstrap)
	if err := protojson.Unmarshal(text, b); err != nil {
		t.Fatal(err)
	}
	b.GetStatsConfig().StatsMatcher = nil
	text, err := protojson.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func portOf(t *testing.T, all map[resource.Name]resource.Resource) uint32 {
	t.Helper()
	l := new(listenerv3.Listener)
	if err := proto.Unmarshal(all[resource.Name{Type: xdstypes.Listener, Name: "l"}].AppendBytes(nil), l); err != nil {
		t.Fatal(err)
	}
	return l.GetAddress().GetSocketAddress().GetPortValue()
}

// get is the answer to a request; "" if there is none.
func (p *proxy) get(t *testing.T) string {
	t.Helper()
	return read(http.Get(fmt.Sprintf("http://127.0.0.1:%d/", p.port)))
}

func read(resp *http.Response, err error) string {
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, b)
}

// reloads is how often the proxy has read the configuration of an extension.
func (p *proxy) reloads(t *testing.T) (sum int) {
	t.Helper()
	for _, n := range p.stats(t, `config_reload$`) {
		sum += n
	}
	return sum
}

func (p *proxy) stats(t *testing.T, filter string) (values []int) {
	t.Helper()
	text := read(p.admin.Get("http://admin/stats?filter=" + filter))
	for _, found := range regexp.MustCompile(`: (\d+)`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1])
		values = append(values, n)
	}
	return values
}

func (p *proxy) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not happen; the answer is %q, of %d reloads", what, p.get(t), p.reloads(t))
		}
	}
}

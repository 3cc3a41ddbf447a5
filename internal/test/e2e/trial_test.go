package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/deliver/process"
)

// trialServer holds resources that a real Envoy is to look at, each under a name of its own, so that it serves none of
// them: listeners bind no port; tables and secrets are asked for by chains of listeners that do nothing else; endpoints
// by clusters of their own.
type trialServer struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	all   map[resource.Type]map[string]proto.Message
	ports uint32 // that are taken

	mu      sync.Mutex
	waits   map[string]bool // nonces of responses that are not answered, and names that are to be asked for
	refused []string
	done    chan struct{} // closed when nothing is waited for
}

func newTrialServer(t *testing.T) *trialServer {
	t.Helper()
	w := &trialServer{all: map[resource.Type]map[string]proto.Message{}, waits: map[string]bool{},
		done: make(chan struct{})}
	for _, typ := range xdstypes.All() {
		w.all[typ] = map[string]proto.Message{}
		w.wait(typ, "")
	}
	return w
}

func (w *trialServer) size() (n int) {
	for _, list := range w.all {
		n += len(list)
	}
	return n
}

func nonce(typ resource.Type, name string) string { return xdstypes.Name(typ) + " " + name }

func (w *trialServer) wait(typ resource.Type, name string) {
	if typ == xdstypes.Cluster || typ == xdstypes.Listener || name != "" {
		w.waits[nonce(typ, name)] = true
	}
}

// add takes a resource of run number i in.
func (w *trialServer) add(t *testing.T, i int, key resource.Key, r resource.Resource) {
	t.Helper()
	m, err := (&anypb.Any{TypeUrl: xdstypes.URL(key.Type), Value: r.AppendBytes(nil)}).UnmarshalNew()
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("run %d, %s, %s %s", i, key.Gateway, xdstypes.Name(key.Type), key.Name)
	switch m := m.(type) {
	case *clusterv3.Cluster:
		if m.Name = name; m.GetEdsClusterConfig() != nil {
			m.EdsClusterConfig.ServiceName = ""
		}
	case *endpointv3.ClusterLoadAssignment:
		m.ClusterName = name
		w.all[xdstypes.Cluster][name] = &clusterv3.Cluster{
			Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: overStream()},
		}
	case *listenerv3.Listener:
		if m.GetUdpListenerConfig() != nil {
			return // Envoy has none of these that does not bind its port
		}
		m.Name, m.BindToPort = name, wrapperspb.Bool(false)
		m.GetAddress().GetSocketAddress().PortSpecifier = w.port()
	case *routev3.RouteConfiguration:
		m.Name = name
		w.wait(key.Type, name)
		w.all[xdstypes.Listener][name] = w.listener(t, name, &listenerv3.FilterChain{Filters: manager(t, name)})
	case *tlsv3.Secret:
		if m.GetGenericSecret() != nil {
			return // a text that no TLS context asks for; Envoy takes any
		}
		m.Name = name
		w.wait(key.Type, name)
		common := &tlsv3.CommonTlsContext{}
		if of := (&tlsv3.SdsSecretConfig{Name: name, SdsConfig: overStream()}); m.GetValidationContext() == nil {
			common.TlsCertificateSdsSecretConfigs = []*tlsv3.SdsSecretConfig{of}
		} else {
			common.ValidationContextType = &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{
				ValidationContextSdsSecretConfig: of,
			}
			inline := func(b []byte) *corev3.DataSource {
				return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
			}
			common.TlsCertificates = []*tlsv3.TlsCertificate{{
				CertificateChain: inline(backendCertificate().Certificate), PrivateKey: inline(backendCertificate().PrivateKey),
			}}
		}
		socket, err := anypb.New(&tlsv3.DownstreamTlsContext{CommonTlsContext: common})
		if err != nil {
			t.Fatal(err)
		}
		w.all[xdstypes.Listener][name] = w.listener(t, name, &listenerv3.FilterChain{Filters: manager(t, "none"),
			TransportSocket: &corev3.TransportSocket{
				Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: socket},
			}})
	}
	w.all[key.Type][name] = m
}

// bad is the name of a table that no Envoy takes.
const bad = "bad"

// addBad adds it, so that it shows that refusals are seen.
func (w *trialServer) addBad(t *testing.T) {
	t.Helper()
	w.wait(xdstypes.Routes, bad)
	w.all[xdstypes.Listener][bad] = w.listener(t, bad, &listenerv3.FilterChain{Filters: manager(t, bad)})
	w.all[xdstypes.Routes][bad] = &routev3.RouteConfiguration{Name: bad, RequestHeadersToRemove: []string{"host"}}
}

func overStream() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// port is one that no other listener has, nor one that another of its name takes the place of.
func (w *trialServer) port() *corev3.SocketAddress_PortValue {
	w.ports++
	return &corev3.SocketAddress_PortValue{PortValue: w.ports}
}

func (w *trialServer) listener(t *testing.T, name string, chain *listenerv3.FilterChain) *listenerv3.Listener {
	t.Helper()
	return &listenerv3.Listener{
		Name: name, BindToPort: wrapperspb.Bool(false), FilterChains: []*listenerv3.FilterChain{chain},
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: w.port(),
		}}},
	}
}

// manager looks a table up.
func manager(t *testing.T, table string) []*listenerv3.Filter {
	t.Helper()
	router, err := anypb.New(&routerv3.Router{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := anypb.New(&hcmv3.HttpConnectionManager{
		StatPrefix:     "trial",
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: table, ConfigSource: overStream()}},
		HttpFilters: []*hcmv3.HttpFilter{{Name: "envoy.filters.http.router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: router}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return []*listenerv3.Filter{{
		Name: "envoy.filters.network.http_connection_manager", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: m},
	}}
}

// run starts an Envoy, and tells what it refuses.
func (w *trialServer) run(t *testing.T) []string {
	t.Helper()
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "trial") // a Unix socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "xds")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, w)
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(listener) })
	defer group.Wait()
	defer server.Stop()
	config, err := bootstrap.Render(bootstrap.Config{
		NodeID: "trial", NodeCluster: "trial", XDSSocket: socket, AdminSocket: filepath.Join(dir, "admin"),
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, append(bootstrap.Flags(), "-c", file, "--concurrency", "1")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	select {
	case <-w.done:
	case <-time.After(2 * WaitTimeout):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for what := range w.waits { // none, unless it took too long
		t.Errorf("Envoy never answered %s", what)
	}
	return w.refused
}

// DeltaAggregatedResources answers each name by a response of its own, whose nonce tells which it was; clusters and
// listeners, which Envoy asks for without a name, all at once: it names those that it refuses.
func (w *trialServer) DeltaAggregatedResources(
	stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer,
) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			return nil // it is gone
		}
		typ, known := xdstypes.OfURL(request.GetTypeUrl())
		if !known {
			continue
		}
		w.answered(request)
		names := request.GetResourceNamesSubscribe()
		if (typ == xdstypes.Cluster || typ == xdstypes.Listener) && request.GetResponseNonce() == "" {
			names = []string{""}
		}
		for _, name := range names {
			if name == "*" {
				continue
			}
			response, err := w.answer(typ, name)
			if err == nil {
				err = stream.Send(response)
			}
			if err != nil {
				return err
			}
		}
	}
}

// answered notes what Envoy says of a response.
func (w *trialServer) answered(request *discoveryv3.DeltaDiscoveryRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if request.GetErrorDetail() != nil {
		w.refused = append(w.refused, request.GetResponseNonce()+": "+request.GetErrorDetail().GetMessage())
	}
	if request.GetResponseNonce() == "" || len(w.waits) == 0 {
		return
	}
	if delete(w.waits, request.GetResponseNonce()); len(w.waits) == 0 {
		close(w.done)
	}
}

func (w *trialServer) answer(typ resource.Type, name string) (*discoveryv3.DeltaDiscoveryResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	response := &discoveryv3.DeltaDiscoveryResponse{TypeUrl: xdstypes.URL(typ), Nonce: nonce(typ, name)}
	list := w.all[typ]
	if name != "" {
		list = map[string]proto.Message{}
		switch m := w.all[typ][name]; {
		case m != nil:
			list[name] = m
		case typ == xdstypes.Routes:
			list[name] = &routev3.RouteConfiguration{Name: name}
		case typ == xdstypes.Endpoints:
			list[name] = &endpointv3.ClusterLoadAssignment{ClusterName: name}
		default:
			response.RemovedResources = []string{name}
		}
	}
	for name, m := range list {
		b, err := anypb.New(m)
		if err != nil {
			return nil, err
		}
		response.Resources = append(response.Resources, &discoveryv3.Resource{Name: name, Version: "1", Resource: b})
	}
	return response, nil
}

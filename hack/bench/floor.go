package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/files"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/schema"
	"cardea.dev/cardea/internal/world"
)

// floor is a bare delta server that sends the bytes which Cardea would send, as soon as it has them: nobody can be faster.
type floor struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	resources map[string][]*discoveryv3.Resource // by type URL
	edits     chan *discoveryv3.Resource         // a route table to send
	acks      chan string                        // nonces
}

// DeltaAggregatedResources answers each type's first request by everything and sends edits after that.
func (f *floor) DeltaAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	requests := make(chan *discoveryv3.DeltaDiscoveryRequest)
	go func() {
		defer close(requests)
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			requests <- r
		}
	}()
	answered := map[string]bool{}
	for n := 0; ; {
		n++
		response := &discoveryv3.DeltaDiscoveryResponse{Nonce: strconv.Itoa(n)}
		select {
		case r, open := <-requests:
			if !open {
				return nil
			}
			if r.GetResponseNonce() != "" {
				select {
				case f.acks <- r.GetResponseNonce():
				default:
				}
			}
			if answered[r.GetTypeUrl()] {
				continue
			}
			answered[r.GetTypeUrl()] = true
			response.TypeUrl, response.Resources = r.GetTypeUrl(), f.resources[r.GetTypeUrl()]
		case table := <-f.edits:
			response.Nonce = "edit-" + table.GetVersion()
			response.TypeUrl, response.Resources = resource.Routes.URL(), []*discoveryv3.Resource{table}
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

// pure is the folder's meaning without any proxy.
type pure struct {
	*world.World
	folder *files.Folder
}

func newPure(dir, cache, address string) (*pure, error) {
	p := &pure{World: world.New(world.Config{Environment: model.Environment{Addresses: []string{address}}})}
	s, err := schema.New()
	if err != nil {
		return nil, err
	}
	p.folder, err = files.New(files.Config{Dir: dir, Sources: p.Sources, Graph: p.Graph, Schema: s, CacheDir: cache, OnProblem: func(files.Problem) {}})
	if err != nil {
		return nil, err
	}
	return p, p.load()
}

func (p *pure) load() error {
	err := p.folder.Load()
	p.Graph.Settle()
	return err
}

// all flattens the resources of these types.
func (p *pure) all(types ...resource.Type) map[string][]*discoveryv3.Resource {
	list := map[string][]*discoveryv3.Resource{}
	p.Graph.View(func(v flow.View) {
		for _, c := range p.Outputs.Resources {
			for key, r := range flow.All(v, c) {
				for _, t := range types {
					if key.Type == t {
						list[t.URL()] = append(list[t.URL()], &discoveryv3.Resource{
							Name: key.Name, Version: r.Version, Resource: &anypb.Any{TypeUrl: t.URL(), Value: r.Flatten(nil)},
						})
					}
				}
			}
		}
	})
	return list
}

// measureFloor sends the tables of as many edits, one after the other, and takes the time to the ACK and to the changed answer.
func measureFloor(l *live) (ack, answer time.Duration, err error) {
	p, err := newPure(l.dir, l.cache, l.address)
	if err != nil {
		return 0, 0, err
	}
	f := &floor{resources: p.all(resource.Types()...), edits: make(chan *discoveryv3.Resource), acks: make(chan string, 100)}
	var tables []*discoveryv3.Resource
	for i := range 2 * liveEdits {
		if err := l.edit(1000 + i); err != nil {
			return 0, 0, err
		}
		if err := p.load(); err != nil {
			return 0, 0, err
		}
		table := p.all(resource.Routes)[resource.Routes.URL()][0]
		table.Version = strconv.Itoa(i)
		tables = append(tables, table)
	}
	stop, err := f.serve(l.envoy)
	if err != nil {
		return 0, 0, err
	}
	defer stop()
	if err := l.answers(func(string) bool { return true }); err != nil {
		return 0, 0, err
	}
	ack = median(func(i int) error {
		f.edits <- tables[i]
		return f.acked(tables[i].Version)
	}, &err)
	answer = median(func(i int) error {
		f.edits <- tables[liveEdits+i]
		return l.answersEdit(1000 + liveEdits + i)
	}, &err)
	return ack, answer, err
}

func (f *floor) acked(version string) error {
	for {
		select {
		case nonce := <-f.acks:
			if nonce == "edit-"+version {
				return nil
			}
		case <-time.After(livePatience):
			return fmt.Errorf("no acknowledgement of edit %s", version)
		}
	}
}

// serve starts the server and an Envoy of its own.
func (f *floor) serve(binary string) (stop func(), err error) {
	dir, err := os.MkdirTemp("", "floor-")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "xds")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, f)
	go func() { _ = server.Serve(listener) }()
	bootstrap, err := envoy.Bootstrap(envoy.BootstrapConfig{
		NodeID: "bench/web", NodeCluster: "bench", XDSSocket: socket, AdminSocket: filepath.Join(dir, "admin"),
	})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(path, bootstrap, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, append(envoy.Flags(), "--config-path", path)...)
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel()
		_ = cmd.Wait()
		server.Stop()
		os.RemoveAll(dir)
	}, nil
}

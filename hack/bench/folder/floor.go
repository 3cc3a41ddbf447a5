package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"cardea.dev/cardea/hack/bench/floor"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/source/files"
)

// pure is the pure part for the folder, without any proxy.
type pure struct {
	*world.World
	folder *files.Folder
}

func newPure(dir, cache, address string) (*pure, error) {
	p := &pure{World: world.New(world.Config{
		Dialects: dataplanes.All(), Environment: model.Environment{Addresses: []string{address}},
		Budgets: model.DefaultBudgets,
	})}
	s := schema.New(kinds.NewCatalog())
	var err error
	p.folder, err = files.New(files.Config{Dir: dir, Sources: p.Sources.Sources, Graph: p.Graph, Schema: s,
		CacheDir:  cache,
		OnProblem: func(files.Problem) {}})
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

// measureFloor sends the tables of the same number of edits, one after the other, and measures the time to the ACK and
// to the changed answer.
func measureFloor(l *live) (ack, answer time.Duration, err error) {
	p, err := newPure(l.dir, l.cache, l.address)
	if err != nil {
		return 0, 0, err
	}
	server := floor.New(floor.All(p.World, xdstypes.All()...))
	var tables []*discoveryv3.Resource
	for i := range 2 * liveEdits {
		if err := l.edit(1000 + i); err != nil {
			return 0, 0, err
		}
		if err := p.load(); err != nil {
			return 0, 0, err
		}
		tables = append(tables, floor.Table(p.World, strconv.Itoa(i)))
	}
	stop, err := serve(server, l.envoy)
	if err != nil {
		return 0, 0, err
	}
	defer stop()
	if err := l.answers(func(string) bool { return true }); err != nil {
		return 0, 0, err
	}
	ack = median(func(i int) error {
		server.Push(tables[i])
		return server.Acked(tables[i].Version)
	}, &err)
	answer = median(func(i int) error {
		server.Push(tables[liveEdits+i])
		return l.answersEdit(1000 + liveEdits + i)
	}, &err)
	return ack, answer, err
}

// serve starts the server and an Envoy of its own.
func serve(s *floor.Server, binary string) (stop func(), err error) {
	dir, err := os.MkdirTemp("", "floor-")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "xds")
	stopServer, err := s.Listen(socket)
	if err != nil {
		return nil, err
	}
	config, err := bootstrap.Render(bootstrap.Config{
		NodeID: "bench/web", NodeCluster: "bench", XDSSocket: socket, AdminSocket: filepath.Join(dir, "admin"),
	})
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, append(bootstrap.Flags(), "--config-path", path)...)
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	return func() {
		cancel()
		_ = cmd.Wait()
		stopServer()
		os.RemoveAll(dir)
	}, nil
}

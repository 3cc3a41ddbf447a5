package standalone

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/gateway"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/process"
	"cardea.dev/cardea/internal/world"
)

// proxies keeps one Envoy for each Gateway of the plan.
type proxies struct {
	world  *world.World
	envoy  string // path of the binary
	socket string // where the xDS server listens
	dir    string // holds a folder for each proxy
	log    *slog.Logger

	// Only in run.
	children map[model.ObjectRef]context.CancelFunc
	waiting  bool // some Gateway's proxy may not start yet

	running sync.WaitGroup
}

// run starts and stops children as Gateways come and go. When it returns, all have ended.
func (p *proxies) run(ctx context.Context) error {
	p.children = map[model.ObjectRef]context.CancelFunc{}
	defer p.running.Wait()
	var seen flow.Rev
	for range p.world.Graph.Watch(ctx) {
		var list []wanted
		changed := p.waiting
		p.world.Graph.View(func(v flow.View) {
			for range flow.Changes(v, p.world.Plan.Gateways, seen) {
				changed = true
			}
			if changed {
				list = p.wanted(v)
			}
			seen = v.Rev()
		})
		if !changed {
			continue
		}
		if err := p.keep(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// wanted is a Gateway that needs a proxy.
type wanted struct {
	gateway model.ObjectRef
	ports   []int32 // that it binds
	live    bool    // its proxy has acknowledged a whole configuration
}

func (p *proxies) wanted(v flow.View) []wanted {
	ports := map[model.ObjectRef][]int32{}
	for key, port := range flow.All(v, p.world.Plan.Ports) {
		ports[key.Gateway] = append(ports[key.Gateway], port.BindPort)
	}
	var list []wanted
	for ref := range flow.All(v, p.world.Plan.Gateways) {
		state, _ := flow.Get(v, p.world.Feedback.Proxies.Collection(), ref)
		list = append(list, wanted{gateway: ref, ports: ports[ref], live: state.Connected > 0 && state.Acknowledged == state.Connected})
	}
	slices.SortFunc(list, func(a, b wanted) int { return a.gateway.Compare(b.gateway) })
	return list
}

// keep makes the wanted Gateways' proxies run, and no others.
func (p *proxies) keep(ctx context.Context, list []wanted) error {
	for ref, cancel := range p.children {
		if !slices.ContainsFunc(list, func(w wanted) bool { return w.gateway == ref }) {
			cancel()
			delete(p.children, ref)
		}
	}
	p.waiting = false
	for _, w := range list {
		if p.children[w.gateway] != nil {
			continue
		}
		if p.mustWait(w, list) {
			p.waiting = true
			continue
		}
		if err := p.start(ctx, w.gateway); err != nil {
			return err
		}
	}
	return nil
}

// mustWait tells whether a proxy that is starting may bind one of these ports. Two that bind a port at the same moment both
// get it, and Envoy calls the later failure to listen a success; one after the other, the second is refused.
func (p *proxies) mustWait(w wanted, list []wanted) bool {
	return slices.ContainsFunc(list, func(o wanted) bool {
		return o.gateway != w.gateway && p.children[o.gateway] != nil && !o.live &&
			slices.ContainsFunc(o.ports, func(port int32) bool { return slices.Contains(w.ports, port) })
	})
}

func (p *proxies) start(ctx context.Context, ref model.ObjectRef) error {
	child, err := process.New(process.Config{
		Name:    "envoy " + ref.Namespace + "/" + ref.Name,
		Command: func() (*exec.Cmd, error) { return p.command(ref) },
		Level:   envoyLevel,
		Log:     p.log,
	})
	if err != nil {
		return fmt.Errorf("proxy of %s: %w", ref, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	p.children[ref] = cancel
	p.running.Go(func() { _ = child.Run(ctx) })
	return nil
}

// command writes the proxy's bootstrap and makes its command.
func (p *proxies) command(ref model.ObjectRef) (*exec.Cmd, error) {
	dir := proxyDir(p.dir, ref)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the proxy: %w", err)
	}
	admin := adminSocket(dir)
	bootstrap, err := envoy.Bootstrap(envoy.BootstrapConfig{
		NodeID: nodeID(ref), NodeCluster: nodeID(ref), XDSSocket: p.socket, AdminSocket: admin,
	})
	if err != nil {
		return nil, err
	}
	if err := os.Remove(admin); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("socket of a former proxy: %w", err)
	}
	path := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(path, bootstrap, 0o600); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	return exec.Command(p.envoy, append(envoy.Flags(), "--config-path", path, "--concurrency", strconv.Itoa(runtime.NumCPU()))...), nil
}

// proxyDir is a proxy's own folder. Unix sockets have short paths, and names of Gateways may be long.
func proxyDir(dir string, ref model.ObjectRef) string {
	return filepath.Join(dir, gateway.ProxyName(ref))
}

func adminSocket(proxyDir string) string { return filepath.Join(proxyDir, "admin") }

// nodeID is how a proxy says which Gateway it serves.
func nodeID(ref model.ObjectRef) string { return ref.Namespace + "/" + ref.Name }

// identify finds the Gateway of a proxy. Only this user can open the server's socket, so the node's word is enough.
func identify(_ context.Context, node *corev3.Node) (model.ObjectRef, error) {
	namespace, name, ok := strings.Cut(node.GetId(), "/")
	if !ok || namespace == "" || name == "" {
		return model.ObjectRef{}, fmt.Errorf("node id %q is not NAMESPACE/NAME of a Gateway", node.GetId())
	}
	return model.Ref(model.KindGateway, namespace, name), nil
}

// envoyLevel reads the level of a line of Envoy's log: [date][thread][level][logger] ... What an Envoy says whenever it is
// stopped is not worth a warning.
func envoyLevel(line string) slog.Level {
	if strings.Contains(line, "caught ENVOY_SIGTERM") || strings.Contains(line, "DeltaAggregatedResources gRPC config stream to") {
		return slog.LevelDebug
	}
	for word, level := range map[string]slog.Level{
		"[warning]": slog.LevelWarn, "[error]": slog.LevelError, "[critical]": slog.LevelError, "[info]": slog.LevelInfo,
	} {
		if strings.Contains(line, word) {
			return level
		}
	}
	return slog.LevelDebug
}

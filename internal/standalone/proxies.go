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

	children map[model.ObjectRef]context.CancelFunc // only in run
	running  sync.WaitGroup
}

// run starts and stops children as Gateways come and go. When it returns, all have ended.
func (p *proxies) run(ctx context.Context) error {
	p.children = map[model.ObjectRef]context.CancelFunc{}
	defer p.running.Wait()
	var seen flow.Rev
	for range p.world.Graph.Watch(ctx) {
		var wanted []model.ObjectRef
		changed := false
		p.world.Graph.View(func(v flow.View) {
			for range flow.Changes(v, p.world.Plan.Gateways, seen) {
				changed = true
			}
			for ref := range flow.All(v, p.world.Plan.Gateways) {
				wanted = append(wanted, ref)
			}
			seen = v.Rev()
		})
		if !changed {
			continue
		}
		if err := p.keep(ctx, wanted); err != nil {
			return err
		}
	}
	return nil
}

// keep makes the wanted Gateways' proxies run, and no others.
func (p *proxies) keep(ctx context.Context, wanted []model.ObjectRef) error {
	for ref, cancel := range p.children {
		if !slices.Contains(wanted, ref) {
			cancel()
			delete(p.children, ref)
		}
	}
	for _, ref := range wanted {
		if _, running := p.children[ref]; running {
			continue
		}
		if err := p.start(ctx, ref); err != nil {
			return err
		}
	}
	return nil
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
	// Unix sockets have short paths, and names of Gateways may be long.
	dir := filepath.Join(p.dir, gateway.ProxyName(ref))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the proxy: %w", err)
	}
	admin := filepath.Join(dir, "admin")
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

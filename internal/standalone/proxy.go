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

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/gateway"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/xds"
)

// command writes the proxy's bootstrap file and makes its command.
func (p *proxies) command(ref model.ObjectRef) (*exec.Cmd, error) {
	if err := p.reachable(); err != nil {
		return nil, err
	}
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
	return exec.Command(p.envoy, append(envoy.Flags(), "--config-path", path, "--concurrency",
		strconv.Itoa(runtime.NumCPU()))...), nil
}

// proxyDir is the folder of a proxy. Paths of Unix sockets must be short, and names of Gateways may be long.
func proxyDir(dir string, ref model.ObjectRef) string {
	return filepath.Join(dir, gateway.ProxyName(ref))
}

func adminSocket(proxyDir string) string { return filepath.Join(proxyDir, "admin") }

// nodeID says which Gateway a proxy serves.
func nodeID(ref model.ObjectRef) string { return ref.NamespacedName() }

// identify: only this user can open the server's socket, so the node id is trusted.
func identify(context.Context) (xds.Claim, error) { return claim, nil }

// claim finds the Gateway of a proxy.
func claim(node *corev3.Node) (model.ObjectRef, error) {
	namespace, name, ok := strings.Cut(node.GetId(), "/")
	if !ok || namespace == "" || name == "" {
		return model.ObjectRef{}, fmt.Errorf("node id %q does not name a Gateway as NAMESPACE/NAME", node.GetId())
	}
	return model.Ref(model.KindGateway, namespace, name), nil
}

// unremarkable are parts of lines that are no warning: what an Envoy logs whenever it is stopped, and whenever it tries
// again to bind a port that is taken, which the server reports once.
var unremarkable = []string{"caught ENVOY_SIGTERM", "DeltaAggregatedResources gRPC config stream to", ": cannot bind '"}

// envoyLevel reads the level of a line of Envoy's log: [date][thread][level][logger] ...
func envoyLevel(line string) slog.Level {
	if slices.ContainsFunc(unremarkable, func(words string) bool { return strings.Contains(line, words) }) {
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

package standalone

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/deliver/xds"
	"cardea.dev/cardea/internal/translate/gateway"
)

// findPrograms finds what each data plane runs.
func findPrograms(ctx context.Context, o Options) (map[model.DataPlane]process.Executable, error) {
	found := map[model.DataPlane]process.Executable{}
	for _, d := range o.Dialects {
		program, err := process.Find(ctx, d.Child.Program, o.ProxyProgram, o.logOrDiscard())
		if err != nil {
			return nil, err
		}
		found[d.Name] = program
	}
	return found, nil
}

// proxyCommand writes the files that a proxy starts with, and makes its command.
func (p *proxyRunner) proxyCommand(ref model.ObjectRef, how dataplane.ChildProcess, program string) (*exec.Cmd, error) {
	if err := p.reachable(); err != nil {
		return nil, err
	}
	dir := proxyDir(p.dir, ref)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the proxy: %w", err)
	}
	admin := adminSocket(dir)
	files, err := how.Files(dataplane.ChildOptions{
		Node: nodeID(ref), XDSSocket: p.socketPath, AdminSocket: admin, Files: p.folders.Folders(ref),
		Memory: p.memory,
	})
	if err != nil {
		return nil, err
	}
	if err := os.Remove(admin); err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("socket of a former proxy: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("bootstrap of the proxy: %w", err)
		}
	}
	return exec.Command(program, how.Arguments(dir, runtime.NumCPU())...), nil
}

// proxyDir is the folder of a proxy. Paths of Unix sockets must be short, and names of ListGateways may be long.
func proxyDir(dir string, ref model.ObjectRef) string {
	return filepath.Join(dir, gateway.ProxyName(ref))
}

func adminSocket(proxyDir string) string { return filepath.Join(proxyDir, "admin") }

// nodeID says which Gateway a proxy serves.
func nodeID(ref model.ObjectRef) string { return ref.NamespacedName() }

// identifyProxy: only this user can open the server's socket, so the node id is trusted.
func identifyProxy(context.Context) (xds.GatewayResolver, error) { return claimGateway, nil }

// claimGateway finds the Gateway of a proxy.
func claimGateway(node xds.Node) (model.ObjectRef, error) {
	namespace, name, ok := strings.Cut(node.ID, "/")
	if !ok || namespace == "" || name == "" {
		return model.ObjectRef{}, fmt.Errorf("node id %q is not NAMESPACE/NAME of a Gateway", node.ID)
	}
	return model.Ref(model.KindGateway, namespace, name), nil
}

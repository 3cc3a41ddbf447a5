package cluster

import (
	"context"
	"fmt"
	"os/exec"

	"cardea.dev/cardea/internal/test/cluster/sandbox"
)

// announced is the name under which Exec finds a cluster.
const announced = "cardea-testcluster"

// Announce makes the cluster the one that Exec finds, until ctx ends. Only one cluster on a machine can be announced.
func (c *Cluster) Announce(ctx context.Context) error {
	if err := sandbox.Announce(ctx, announced); err != nil {
		return fmt.Errorf("another cluster may be running: %w", err)
	}
	return nil
}

// Exec runs a command in the network of the announced cluster, with $KUBECONFIG set, and returns the result of cmd.Run.
// It must be called outside a sandbox, by root.
func Exec(cmd *exec.Cmd) error {
	pid, err := sandbox.Find(announced)
	if err != nil {
		return fmt.Errorf("no cluster is running: %w", err)
	}
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+kubeconfigPath)
	return sandbox.Join(pid, cmd)
}

package cluster

import (
	"context"
	"fmt"
)

// StopAPIServer kills the API server: connections to it are refused. Pods and Services are not affected.
func (c *Cluster) StopAPIServer() { c.control.apiServer.kill() }

// StartAPIServer starts the API server again, at the same address with the same data, and returns when it is ready.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	return c.patiently(ctx, "start the API server", func(ctx context.Context) error {
		if err := c.control.startAPIServer(ctx); err != nil {
			return err
		}
		// The controllers' watches reconnect after half a minute or more. A new controller manager, as after a lost lease in
		// a real cluster, reads everything at once.
		c.control.controllerManager.kill()
		return c.control.controllerManager.start()
	})
}

// RestartEtcd kills etcd, starts it again with the same data, and returns when the API server is ready again.
func (c *Cluster) RestartEtcd(ctx context.Context) error {
	return c.patiently(ctx, "restart etcd", func(ctx context.Context) error {
		c.control.etcd.kill()
		if err := c.control.etcd.start(); err != nil {
			return err
		}
		return c.control.ready(ctx)
	})
}

// KillPod ends every running container of a pod by SIGKILL; then its restart policy applies. The error wraps
// kubelet.ErrNotRunning if none runs.
func (c *Cluster) KillPod(namespace, name string) error { return c.kubelet.Kill(namespace, name, "") }

// KillContainer is KillPod for one container.
func (c *Cluster) KillContainer(namespace, pod, container string) error {
	return c.kubelet.Kill(namespace, pod, container)
}

// patiently runs do with startTimeout.
func (c *Cluster) patiently(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not within %v", startTimeout))
	defer cancel()
	if err := do(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

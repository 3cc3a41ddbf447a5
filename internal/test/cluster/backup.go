package cluster

import (
	"context"
	"os"
	"path/filepath"
)

// SaveStore keeps a copy of everything that the API server stores, for RestoreStore. It restarts etcd.
func (c *Cluster) SaveStore(ctx context.Context) error {
	return c.patiently(ctx, "save the store", func(ctx context.Context) error {
		c.control.etcd.kill()
		if err := replaceFolder(storeDir, savedDir); err != nil {
			return err
		}
		if err := c.control.etcd.start(); err != nil {
			return err
		}
		return c.control.ready(ctx)
	})
}

// RestoreStore makes the API server's store what it was at SaveStore, as after a disaster: API server and etcd are
// stopped, and start again at the same addresses. Resource versions count on from those of that time. What runs in pods
// stays, so pods should be the same as then.
func (c *Cluster) RestoreStore(ctx context.Context) error {
	c.StopAPIServer()
	c.control.etcd.kill()
	if err := replaceFolder(savedDir, storeDir); err != nil {
		return err
	}
	if err := c.control.etcd.start(); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}

// replaceFolder makes a folder a copy of another one.
func replaceFolder(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}

var (
	storeDir = filepath.Join(controlDir, "etcd")
	savedDir = filepath.Join(controlDir, "etcd.saved")
)

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/netip"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"cardea.dev/cardea/internal/test/cluster/kubelet"
	"cardea.dev/cardea/internal/test/cluster/services"
)

// startNode starts what runs in this process: the kubelet, and what makes Services reachable.
func (c *Cluster) startNode(ctx context.Context, o Options) error {
	certificate, err := tls.LoadX509KeyPair(filepath.Join(controlDir, "kubelet.crt"),
		filepath.Join(controlDir, "kubelet.key"))
	if err != nil {
		return err
	}
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(c.Config.CAData)
	c.kubelet = kubelet.New(kubelet.Config{
		PodCertificates: !o.WithoutPodCertificates, Now: o.Now,
		Client: c.Client, Images: o.images(), Dir: podsDir,
		Address: NodeAddress, PodRange: PodRange, DNS: DNSAddress,
		APIServer: netip.AddrPortFrom(ServiceRange.Addr().Next(), 443),
		Port:      kubeletPort, Certificate: certificate, ClientCAs: authority, Log: o.Log.With("part", "kubelet"),
	})
	forwarder := services.New(services.Config{
		Client: c.Client, Node: NodeAddress, LoadBalancers: LoadBalancerRange, DNS: DNSAddress,
		Log: o.Log.With("part", "services"),
	})
	for _, part := range []func(context.Context, func()) error{forwarder.Run, c.kubelet.Run} {
		if err := c.runPart(ctx, o, part); err != nil {
			return err
		}
	}
	return nil
}

// runPart runs a part until the cluster stops, and returns when it is ready.
func (c *Cluster) runPart(ctx context.Context, o Options, run func(context.Context, func()) error) error {
	// The client library's log is discarded: its callers log what matters.
	life, end := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	ready, failed := make(chan struct{}), make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(life, func() { close(ready) }); err != nil {
			o.Log.Error("a part of the test cluster has ended", "error", err)
			failed <- err
		}
	})
	c.later(func() {
		end()
		running.Wait()
	})
	select {
	case <-ready:
		return nil
	case err := <-failed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/apply"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/kubetest"
)

// clusters measures the way of an edit into a cluster: by server-side apply, and by a change of a ledger whose worker
// runs beside it. They edit a route each, in turn, and a watch of another client sees both.
func (b *bench) clusters() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		progress("without clusters: they need Linux and root")
		return nil
	}
	progress("a test cluster")
	c, err := kubetest.Up(b.ctx, kubetest.Options{})
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := c.InstallGatewayAPI(b.ctx, "experimental"); err != nil {
		return err
	}
	_, err = c.Client.CoreV1().Namespaces().Create(b.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench"}},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for _, d := range b.databases {
		progress("%s: %d edits", d.name, b.edits)
		if err := b.cluster(d, c); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	return nil
}

// cluster measures one database.
func (b *bench) cluster(d *database, c *kubetest.Cluster) (err error) {
	_, l, err := b.fresh(d, "clusters", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	err = errors.Join(
		l.SetTarget(b.ctx, ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Clusters,
			Existing: ledger.ExistingOverwrite}, "bench"),
		l.SetCluster(b.ctx, ledger.Cluster{Name: east}, "bench"))
	if err != nil {
		return err
	}
	stop, err := b.worker(l, c)
	if err != nil {
		return err
	}
	defer stop()
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	routes := client.Resource(schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1",
		Resource: "httproutes"}).Namespace("bench")
	w, err := routes.Watch(b.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer w.Stop()
	var direct, ours, written []time.Duration
	force := true
	for i := range warm + b.edits {
		version := int(time.Now().UnixNano())
		began := time.Now()
		_, err := routes.Patch(b.ctx, scene.Name(0), types.ApplyPatchType, small("", "HTTPRoute", 0, version).Content,
			metav1.PatchOptions{FieldManager: "bench", Force: &force})
		if err != nil {
			return err
		}
		if err := sees(w, 0, version); err != nil {
			return err
		}
		theirs := time.Since(began)
		began = time.Now()
		if _, err := l.Commit(b.ctx, ledger.Draft{Author: "bench", Edits: []ledger.Edit{
			small(ledger.DefaultTarget, "HTTPRoute", 1, version)}}); err != nil {
			return err
		}
		kept := time.Since(began)
		if err := sees(w, 1, version); err != nil {
			return err
		}
		if i >= warm {
			direct, ours, written = append(direct, theirs), append(ours, time.Since(began)), append(written, kept)
		}
	}
	row(fmt.Sprintf("%s: commit to the watch event of the object in the cluster", d.name), quantiles(ours),
		fmt.Sprintf("by server-side apply %s: p50 %+.1f ms; the commit alone %s", quantiles(direct),
			table.Milli(quantile(ours, 0.5)-quantile(direct, 0.5)), quantiles(written)), "p50 10 ms more than an apply")
	return nil
}

// worker runs the worker of the cluster.
func (b *bench) worker(l *store.Store, c *kubetest.Cluster) (stop func(), err error) {
	w, err := apply.New(apply.Config{Work: l, Targets: l.Targets, Changes: l, REST: kubeclient.NoRetryConfig(c.Config),
		Cluster: east,
		Worker:  "bench"})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() { cancel(); <-ended }, nil
}

// sees waits until a watch shows a version of a route.
func sees(w watch.Interface, route, version int) error {
	end := time.After(child.WaitTimeout)
	for {
		select {
		case e, open := <-w.ResultChan():
			if !open {
				return errors.New("the watch ended")
			}
			o, is := e.Object.(*unstructured.Unstructured)
			if !is || o.GetName() != scene.Name(route) {
				continue
			}
			hosts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
			if len(hosts) == 1 && hosts[0] == fmt.Sprintf("%s-%d.example.com", scene.Name(route), version) {
				return nil
			}
		case <-end:
			return errors.New("the cluster does not have the edit")
		}
	}
}

package proxies_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
)

// state is what matters of the four objects, for a comparison.
func (p *place) state() (map[string]string, error) {
	account, err1 := p.serviceAccount()
	config, err2 := p.configMap()
	deployed, err3 := p.deployment()
	service, err4 := p.service()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	for _, o := range []metav1.Object{account, config, deployed, service} {
		if o.GetDeletionTimestamp() != nil {
			return nil, fmt.Errorf("%s is going", o.GetName())
		}
	}
	head := func(o metav1.Object) string {
		annotations := o.GetAnnotations()
		delete(annotations, "deployment.kubernetes.io/revision")
		var owners []types.UID
		for _, owner := range o.GetOwnerReferences() {
			owners = append(owners, owner.UID)
		}
		return fmt.Sprint(o.GetLabels(), annotations, owners)
	}
	return map[string]string{
		"ServiceAccount": head(account) + fmt.Sprint(*account.AutomountServiceAccountToken),
		"ConfigMap":      head(config) + fmt.Sprint(config.Data),
		"Deployment":     head(deployed) + deployed.Spec.Template.String(),
		"Service": head(service) + fmt.Sprint(service.Spec.Type, service.Spec.Selector,
			service.Spec.Ports[0].TargetPort),
	}, nil
}

// isAgain waits until the objects are as before.
func (p *place) isAgain(before map[string]string) {
	p.t.Helper()
	p.eventually(func() error {
		now, err := p.state()
		if err != nil {
			return err
		}
		for kind, text := range before {
			if now[kind] != text {
				return fmt.Errorf("%s is\n%s\nwas\n%s", kind, now[kind], text)
			}
		}
		return nil
	})
}

// TestRepair deletes each object, and changes each.
func TestRepair(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	before, err := p.state()
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.repairs()
	if err != nil {
		t.Fatal(err)
	}
	core, apps := p.Client.CoreV1(), p.Client.AppsV1()
	name, by := p.proxy.Name, metav1.PatchOptions{FieldManager: "somebody"}
	merge := func(text string) []byte { return []byte(text) }
	for _, c := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"the ServiceAccount is deleted", func(ctx context.Context) error {
			return core.ServiceAccounts(p.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		}},
		{"the ConfigMap is deleted", func(ctx context.Context) error {
			return core.ConfigMaps(p.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		}},
		{"the Deployment is deleted", func(ctx context.Context) error {
			return apps.Deployments(p.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		}},
		{"the Deployment is deleted after its pods", func(ctx context.Context) error {
			foreground := metav1.DeletePropagationForeground
			return apps.Deployments(p.namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &foreground})
		}},
		{"the Service is deleted", func(ctx context.Context) error {
			return core.Services(p.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		}},
		{"the ServiceAccount is changed", func(ctx context.Context) error {
			_, err := core.ServiceAccounts(p.namespace).Patch(ctx, name, types.MergePatchType,
				merge(`{"automountServiceAccountToken":true}`), by)
			return err
		}},
		{"the ConfigMap is changed", func(ctx context.Context) error {
			_, err := core.ConfigMaps(p.namespace).Patch(ctx, name, types.MergePatchType, merge(`{"data":{"envoy.json":"{}"}}`),
				by)
			return err
		}},
		{"the Deployment is changed", func(ctx context.Context) error {
			_, err := apps.Deployments(p.namespace).Patch(ctx, name, types.StrategicMergePatchType,
				merge(`{"spec":{"template":{"spec":{"containers":[{"name":"envoy","image":"envoy:theirs"}]}}}}`), by)
			return err
		}},
		{"the Service is changed", func(ctx context.Context) error {
			_, err := core.Services(p.namespace).Patch(ctx, name, types.MergePatchType,
				merge(`{"spec":{"selector":{"app.kubernetes.io/name":"theirs"}}}`), by)
			return err
		}},
		{"the Service loses its labels", func(ctx context.Context) error {
			_, err := core.Services(p.namespace).Patch(ctx, name, types.JSONPatchType,
				merge(`[{"op":"remove","path":"/metadata/labels"}]`), by)
			return err
		}},
		{"the Deployment loses its owner", func(ctx context.Context) error {
			_, err := apps.Deployments(p.namespace).Patch(ctx, name, types.JSONPatchType,
				merge(`[{"op":"remove","path":"/metadata/ownerReferences"}]`), by)
			return err
		}},
	} {
		t.Log(c.what)
		if err := c.do(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.isAgain(before)
	}
	want := map[string]float64{"ConfigMap": 2, "Deployment": 4, "Service": 3, "ServiceAccount": 2}
	p.eventually(func() error { // what is repaired is counted a moment later
		now, err := p.repairs()
		for kind, n := range first {
			now[kind] -= n
		}
		maps.DeleteFunc(now, func(_ string, n float64) bool { return n == 0 }) // of other tests
		if err == nil && !maps.Equal(now, want) {
			err = fmt.Errorf("repairs are counted as %v", now)
		}
		return err
	})
	// What others add is theirs.
	if _, err := core.Services(p.namespace).Patch(t.Context(), name, types.MergePatchType,
		merge(`{"metadata":{"annotations":{"theirs":"yes"}},"spec":{"sessionAffinity":"ClientIP"}}`), by); err != nil {
		t.Fatal(err)
	}
	p.plan(func(x *plan.ProxySpec) {
		x.Ports = append(x.Ports, plan.ProxyPort{Number: 81, Bind: 81, Transport: model.TransportTCP})
	})
	p.eventually(func() error {
		service, err := p.service()
		if err == nil && len(service.Spec.Ports) != 2 {
			err = errors.New("it has not changed")
		}
		return err
	})
	service, err := p.service()
	if err != nil || service.Annotations["theirs"] != "yes" ||
		service.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		t.Errorf("what others added is gone: %v", err)
	}
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
}

// repairs is how often objects of each kind were repaired.
func (p *place) repairs() (map[string]float64, error) {
	families, err := p.metrics.Gather()
	counted := map[string]float64{}
	for _, f := range families {
		if f.GetName() != "cardea_deploy_repairs_total" {
			continue
		}
		for _, m := range f.Metric {
			counted[m.Label[0].GetValue()] = m.Counter.GetValue()
		}
	}
	return counted, err
}

// metric is the value of a metric without labels.
func (p *place) metric(name string) float64 {
	p.t.Helper()
	families, err := p.metrics.Gather()
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric[0].Gauge.GetValue()
		}
	}
	p.t.Fatalf("no metric %s", name)
	return 0
}

// TestContested: if another client undoes every repair, repairs get less frequent, and an Event names the client.
func TestContested(t *testing.T) {
	p := newPlace(t)
	p.plan(func(x *plan.ProxySpec) { x.Parameters = parameters(t, `{replicas: 0}`) })
	deployments := p.Client.AppsV1().Deployments(p.namespace)
	var before *appsv1.Deployment
	p.eventually(func() (err error) {
		before, err = p.deployment()
		return err
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	undone := make(chan int)
	go func() {
		n := 0
		defer func() { undone <- n }()
		for ctx.Err() == nil {
			now, err := deployments.Get(ctx, p.proxy.Name, metav1.GetOptions{})
			if err == nil && now.Spec.Template.Spec.Containers[0].Image == image {
				_, err = deployments.Patch(ctx, p.proxy.Name, types.StrategicMergePatchType,
					[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"envoy","image":"envoy:theirs"}]}}}}`),
					metav1.PatchOptions{FieldManager: "fighter"})
				if err == nil {
					n++
				}
			}
			time.Sleep(10 * time.Millisecond) // between two looks
		}
	}()
	p.happened("Contested", "fighter")
	if n := p.metric("cardea_deploy_contested"); n != 1 {
		t.Errorf("%v objects are contested", n)
	}
	stop()
	if n := <-undone; n > 10 {
		t.Errorf("%d repairs were undone", n)
	}
	p.eventually(func() error {
		now, err := p.deployment()
		if err == nil && now.Spec.Template.Spec.Containers[0].Image != before.Spec.Template.Spec.Containers[0].Image {
			err = errors.New("it is theirs still")
		}
		return err
	})
}

// TestAPIServerAway: changes of the plan during an outage of the API server are applied after it; proxies serve all the
// time.
func TestAPIServerAway(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	f := p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	p.eventually(func() error {
		_, err := get(f.Addresses[0].Value)
		return err
	})
	p.StopAPIServer()
	up := sync.OnceFunc(func() {
		if err := p.StartAPIServer(context.Background()); err != nil {
			t.Fatal(err)
		}
	})
	defer up()
	p.plan(func(x *plan.ProxySpec) {
		x.Ports = append(x.Ports, plan.ProxyPort{Number: 81, Bind: 81, Transport: model.TransportTCP})
	})
	p.eventually(func() error {
		if n := p.metric("cardea_deploy_troubled"); n != 1 {
			return fmt.Errorf("%v are in trouble", n)
		}
		return nil
	})
	if _, err := get(f.Addresses[0].Value); err != nil {
		t.Errorf("while the API server is away: %v", err)
	}
	up()
	p.eventually(func() error {
		service, err := p.service()
		if err == nil && len(service.Spec.Ports) != 2 {
			err = errors.New("it has not changed")
		}
		return err
	})
	p.eventually(func() error {
		if n := p.metric("cardea_deploy_troubled"); n != 0 {
			return fmt.Errorf("%v are in trouble", n)
		}
		return nil
	})
	before, err := p.state()
	if err != nil {
		t.Fatal(err)
	}
	if now, _ := p.front(); now.Reason != "" || len(now.Addresses) != 1 {
		t.Errorf("the front is %+v", now)
	}
	if err := p.Client.CoreV1().Services(p.namespace).Delete(t.Context(), p.proxy.Name,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.isAgain(before) // it is watched again
}

// TestRestart: another Deployer, which remembers nothing, changes nothing.
func TestRestart(t *testing.T) {
	p := newPlace(t)
	p.plan(nil)
	pod := p.pods(1)[0]
	p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	versions := func() (list []string) {
		account, err1 := p.serviceAccount()
		config, err2 := p.configMap()
		deployed, err3 := p.deployment()
		service, err4 := p.service()
		object, err5 := p.gateways.Gateways(p.namespace).Get(t.Context(), p.ref.Name(), metav1.GetOptions{})
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		for _, o := range []metav1.Object{account, config, deployed, service, object} {
			list = append(list, o.GetResourceVersion())
		}
		return list
	}
	// The pod's readiness is in the Deployment's status.
	p.eventually(func() error {
		deployed, err := p.deployment()
		if err == nil && (deployed.Status.AvailableReplicas != 1 ||
			deployed.Status.ObservedGeneration != deployed.Generation) {
			err = fmt.Errorf("%+v", deployed.Status)
		}
		return err
	})
	before := versions()
	p.restart(p.proxy, func(c *proxies.Config) { c.Events = func(e proxies.Event) { t.Errorf("%+v", e) } },
		func(front func() model.Front) {
			p.eventually(func() error {
				if f := front(); len(f.Addresses) != 1 {
					return fmt.Errorf("the front is %+v", f)
				}
				return nil
			})
		})
	p.eventually(func() error { return labelled("restart") })
	if after := versions(); strings.Join(after, " ") != strings.Join(before, " ") {
		t.Errorf("versions %v became %v", before, after)
	}
	if now := p.pods(1)[0]; now.UID != pod.UID {
		t.Error("the pod was replaced")
	}
}

// restart runs another Deployer, with no records, for the Gateway alone while something is done.
func (p *place) restart(proxy plan.ProxySpec, change func(*proxies.Config), while func(front func() model.Front)) {
	p.t.Helper()
	cfg := p.config()
	cfg.Metrics = nil
	cfg.Graph = flow.New(flow.Config{Name: "restart", Check: true})
	states := flow.NewSource[model.ObjectRef, plan.ProxySpec](cfg.Graph, "proxies")
	classes := flow.NewSource[model.ObjectRef, plan.ClassState](cfg.Graph, "classes")
	selections := flow.NewSource[model.ObjectRef, plan.PodSelector](cfg.Graph, "selections")
	cfg.Fronts = flow.NewSource[model.ObjectRef, model.Front](cfg.Graph, "fronts")
	cfg.Proxies, cfg.Classes, cfg.Selections = states.Collection(), classes.Collection(), selections.Collection()
	change(&cfg)
	// all that are begun from here on have it
	pprof.SetGoroutineLabels(pprof.WithLabels(p.t.Context(), pprof.Labels("test", "restart")))
	defer pprof.SetGoroutineLabels(p.t.Context())
	cfg.Graph.Apply("test", func(b *flow.Batch) {
		if proxy.UID != "" {
			states.Set(b, p.ref, proxy)
		}
		states.MarkSynced(b)
		selections.MarkSynced(b)
		classes.MarkSynced(b)
		cfg.Fronts.MarkSynced(b)
	})
	d, err := proxies.New(cfg)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan error, 2)
	go func() { ended <- cfg.Graph.Run(ctx) }()
	go func() { ended <- d.Run(ctx) }()
	while(func() (f model.Front) {
		cfg.Graph.View(func(v flow.View) { f, _ = flow.Get(v, cfg.Fronts.Collection(), p.ref) })
		return f
	})
	cancel()
	for range 2 {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			p.t.Error(err)
		}
	}
}

// labelled counts the goroutines that have a label: older goroutines may start others meanwhile, which must not be
// counted.
func labelled(label string) error {
	var all strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err
	}
	for one := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(one, fmt.Sprintf("labels: {%q:%q}", "test", label)) {
			return errors.New(one)
		}
	}
	return nil
}

package proxies

import (
	"bytes"
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/kubeclient"
)

var (
	gateways = gatewayv1.SchemeGroupVersion.WithResource("gateways")
	classes  = gatewayv1.SchemeGroupVersion.WithResource("gatewayclasses")
)

// groupVersionResource is the resource of a kind, as in URLs.
func (k kind) groupVersionResource() schema.GroupVersionResource {
	return [...]schema.GroupVersionResource{
		serviceAccount: corev1.SchemeGroupVersion.WithResource("serviceaccounts"),
		configMap:      corev1.SchemeGroupVersion.WithResource("configmaps"),
		networkPolicy:  networkingv1.SchemeGroupVersion.WithResource("networkpolicies"),
		deployment:     appsv1.SchemeGroupVersion.WithResource("deployments"),
		service:        corev1.SchemeGroupVersion.WithResource("services"),
		fileSecret:     corev1.SchemeGroupVersion.WithResource("secrets"),
		fileMap:        corev1.SchemeGroupVersion.WithResource("configmaps"),
	}[k]
}

// createInformers creates the informers of own objects. Services are needed for their addresses and Deployments for
// their rollouts; for the others, the metadata is enough to see that another client changed them.
func (d *Deployer) createInformers(apps rest.Interface) error {
	ownSelector := selectorOf(d.finders)
	own, files := ownSelector+",!"+filesLabel, ownSelector+","+filesLabel
	metadataOf := func(k kind, selector string) cache.SharedIndexInformer {
		from := kubeclient.ListWatch(d.objects.Resource(k.groupVersionResource()), selector)
		return cache.NewSharedIndexInformer(from, &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	}
	whole := func(k kind, client rest.Interface, example runtime.Object, by cache.Indexers) cache.SharedIndexInformer {
		from := cache.NewFilteredListWatchFromClient(client, k.groupVersionResource().Resource, metav1.NamespaceAll,
			func(o *metav1.ListOptions) { o.LabelSelector = own })
		return cache.NewSharedIndexInformer(from, example, 0, by)
	}
	for k := range kindsEnd {
		switch k {
		case service:
			d.informers[k] = whole(k, d.core, &corev1.Service{}, cache.Indexers{byBackend: d.finders.index})
		case deployment:
			d.informers[k] = whole(k, apps, &appsv1.Deployment{}, cache.Indexers{})
		case fileSecret, fileMap:
			d.informers[k] = metadataOf(k, files)
		default:
			d.informers[k] = metadataOf(k, own)
		}
		if err := d.informers[k].SetTransform(trimObject); err != nil {
			return err
		}
		if err := d.informers[k].SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			if k == fileSecret && apierrors.IsForbidden(err) {
				d.secretsForbidden.Store(true)
			}
		}); err != nil {
			return err
		}
		if _, err := d.informers[k].AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { d.observeObject(k, o, false) },
			UpdateFunc: func(_, o any) { d.observeObject(k, o, false) },
			DeleteFunc: func(o any) { d.observeObject(k, o, true) },
		}); err != nil {
			return err
		}
	}
	return nil
}

// trimObject drops what nobody reads. From the managed fields it keeps the managers, and whether Cardea owns the number
// of replicas.
func trimObject(o any) (any, error) {
	if object, ok := o.(metav1.Object); ok {
		fields := object.GetManagedFields()
		for i, f := range fields {
			fields[i] = metav1.ManagedFieldsEntry{Manager: f.Manager, Operation: f.Operation}
			if f.Manager == manager && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.Raw, []byte(replicasField)) {
				fields[i].FieldsV1 = &metav1.FieldsV1{Raw: []byte(replicasField)}
			}
		}
		object.SetManagedFields(fields)
	}
	if deployed, ok := o.(*appsv1.Deployment); ok {
		deployed.Spec = appsv1.DeploymentSpec{Replicas: deployed.Spec.Replicas}
	}
	return o, nil
}

// observeObject handles a change of an own object. It queues the Gateway or XBackend if another client made the change,
// or if the change may concern the Gateway's addresses or a rollout.
func (d *Deployer) observeObject(k kind, o any, deleted bool) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	object, ok := o.(metav1.Object)
	if !ok {
		return
	}
	ref, known := d.ownerOf(object)
	if !known {
		return
	}
	d.mu.Lock()
	_, proxied := d.proxies[ref]
	_, selects := d.selections[ref]
	planned := proxied || selects
	if deleted && !planned && d.records[ref] == nil {
		d.mu.Unlock()
		return // Cardea deleted it, or it was deleted with its Gateway
	}
	m := &d.ensureRecord(ref).objects[k]
	if k.isFiles() {
		p := d.proxies[ref]
		again, others := m.observeFiles(object, deleted, time.Now())
		d.mu.Unlock()
		if others && p.DataPlane.ReadsFiles && !p.Deleting {
			d.metrics.repairs.WithLabelValues(k.String()).Inc()
			time.AfterFunc(again, func() { d.cfg.FilesChanged(ref) })
		}
		return
	}
	if m.seen = ""; !deleted {
		m.seen = fingerprint(object)
	}
	m.events++
	other := m.seen == "" || m.seen != m.fingerprint
	m.dirty = other
	d.mu.Unlock()
	if other || k == service || k == deployment {
		d.queue.Add(ref)
	}
}

// findObject returns an own object as the watch showed it last, or nil.
func (d *Deployer) findObject(k kind, namespace, name string) metav1.Object {
	o, found, err := d.informers[k].GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !found {
		return nil
	}
	object, _ := o.(metav1.Object)
	return object
}

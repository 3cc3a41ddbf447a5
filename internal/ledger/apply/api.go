package apply

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// mapperPatience is how long a kind that the cluster does not have is not asked for again.
const mapperPatience = time.Second

// api is the API server: what kinds it has, and requests with a deadline each.
type api struct {
	objects dynamic.Interface
	plain   rest.Interface // for what is no object
	patient time.Duration  // for each request

	mu     sync.Mutex
	mapper *restmapper.DeferredDiscoveryRESTMapper
	reset  time.Time // when the list of kinds was read anew
}

func newAPI(config *rest.Config, patient time.Duration) (*api, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter, config.Timeout = -1, nil, 0
	config.WarningHandlerWithContext = rest.NoWarnings{} // of deprecated kinds, again with each request
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &api{objects: objects, plain: kinds.RESTClient(), patient: patient,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// kind finds how a kind is called in requests; no version: the one that the API server prefers. A kind that is not
// known is looked for again in the API server, at most once a second.
func (a *api) kind(ctx context.Context, kind schema.GroupKind, version string) (*meta.RESTMapping, error) {
	ctx, cancel := context.WithTimeout(ctx, a.patient)
	defer cancel()
	var versions []string
	if version != "" {
		versions = []string{version}
	}
	found, err := a.mapper.RESTMappingWithContext(ctx, kind, versions...)
	if !meta.IsNoMatchError(err) {
		return found, err
	}
	if !a.refresh(ctx) {
		return nil, err
	}
	return a.mapper.RESTMappingWithContext(ctx, kind, versions...)
}

// refresh has the list of kinds read anew, unless that was a moment ago.
func (a *api) refresh(ctx context.Context) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if time.Since(a.reset) < mapperPatience {
		return false
	}
	a.reset = time.Now()
	a.mapper.ResetWithContext(ctx)
	return true
}

// all are the objects of a kind, in the version that the API server prefers.
func (a *api) all(ctx context.Context, of scope) (dynamic.ResourceInterface, error) {
	m, err := a.kind(ctx, of.kind, "")
	if err != nil {
		return nil, err
	}
	if of.namespace != "" {
		return a.objects.Resource(m.Resource).Namespace(of.namespace), nil
	}
	return a.objects.Resource(m.Resource), nil
}

// lacks tells for certain whether the API server has no such kind in any version: a group that does not answer for now
// may have it.
func (a *api) lacks(ctx context.Context, kind schema.GroupKind) bool {
	ctx, cancel := context.WithTimeout(ctx, a.patient)
	defer cancel()
	if kind.Group == "" {
		return false
	}
	text, err := a.plain.Get().AbsPath("/apis/" + kind.Group).MaxRetries(0).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		return true
	}
	var group metav1.APIGroup
	if err != nil || json.Unmarshal(text, &group) != nil {
		return false
	}
	for _, v := range group.Versions {
		var list metav1.APIResourceList
		text, err := a.plain.Get().AbsPath("/apis/" + v.GroupVersion).MaxRetries(0).Do(ctx).Raw()
		if err != nil || json.Unmarshal(text, &list) != nil {
			return false
		}
		for _, r := range list.APIResources {
			if r.Kind == kind.Kind {
				return false
			}
		}
	}
	return true
}

// object is the place of one object.
type object struct {
	api       *api
	resource  dynamic.ResourceInterface
	namespace string
	name      string
}

func (a *api) object(m *meta.RESTMapping, namespace, name string) object {
	o := object{api: a, resource: a.objects.Resource(m.Resource), namespace: namespace, name: name}
	if namespace != "" {
		o.resource = a.objects.Resource(m.Resource).Namespace(namespace)
	}
	return o
}

// get is the object as it is; nil: it is not there.
func (o object) get(ctx context.Context) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, o.api.patient)
	defer cancel()
	found, err := o.resource.Get(ctx, o.name, metav1.GetOptions{})
	if missing(err) {
		return nil, nil
	}
	return found, err
}

// apply writes an object by server-side apply. It must be the version that was read, if it was there.
func (o object) apply(
	ctx context.Context, want map[string]any, read *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, o.api.patient)
	defer cancel()
	if read != nil {
		want = copied(want)
		m, _ := want["metadata"].(map[string]any)
		m = copied(m)
		m["uid"], m["resourceVersion"] = string(read.GetUID()), read.GetResourceVersion()
		want["metadata"] = m
	}
	text, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	force := true
	return o.resource.Patch(ctx, o.name, types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: Manager,
		Force: &force, FieldValidation: metav1.FieldValidationStrict})
}

// patch changes what an apply can't: who owns what.
func (o object) patch(ctx context.Context, text []byte) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, o.api.patient)
	defer cancel()
	return o.resource.Patch(ctx, o.name, types.JSONPatchType, text, metav1.PatchOptions{FieldManager: Manager})
}

// remove deletes the object if it is as it was read: neither another one of its name, nor one that a later generation
// was applied to. One that is gone already is no error.
func (o object) remove(ctx context.Context, read *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, o.api.patient)
	defer cancel()
	uid, version, policy := read.GetUID(), read.GetResourceVersion(), metav1.DeletePropagationBackground
	err := o.resource.Delete(ctx, o.name, metav1.DeleteOptions{PropagationPolicy: &policy,
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if missing(err) {
		return nil
	}
	return err
}

// ready asks the API server whether it is there; an answer of any kind but "not ready" is one.
func (a *api) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, a.patient)
	defer cancel()
	code := 0
	a.plain.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).StatusCode(&code)
	return code != 0 && code < http.StatusInternalServerError
}

// missing tells whether an object is not there, though its kind is (noKind).
func missing(err error) bool { return apierrors.IsNotFound(err) && !noKind(err) }

// noKind tells whether the API server has no such resource: then it answers no Status, and the client library makes
// one.
func noKind(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// missingNamespace is the namespace that an apply needs and that is not there; "": that is not the error.
func missingNamespace(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return ""
	}
	if d := status.Status().Details; d != nil && d.Kind == "namespaces" {
		return d.Name
	}
	return ""
}

// unreachable tells whether there was no answer.
func unreachable(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return false
	}
	if _, isNet := errors.AsType[net.Error](err); isNet {
		return true
	}
	_, isURL := errors.AsType[*url.Error](err)
	return isURL
}

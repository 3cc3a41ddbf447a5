package apply

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
)

// apiServer is the API server: what kinds it has, and requests with a deadline each.
type apiServer struct {
	objects        dynamic.Interface
	plain          rest.Interface // for what is no object
	kinds          *kinds
	requestTimeout time.Duration // for each request
}

func newAPI(config *rest.Config, patient time.Duration) (*apiServer, error) {
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
	plain, err := kubeclient.Plain(config, client)
	if err != nil {
		return nil, err
	}
	return &apiServer{objects: objects, plain: plain, kinds: newKinds(plain), requestTimeout: patient}, nil
}

// findMapping is kinds.find with a deadline.
func (a *apiServer) findMapping(ctx context.Context, kind schema.GroupKind, version string) (*meta.RESTMapping, error) {
	ctx, cancel := context.WithTimeout(ctx, a.requestTimeout)
	defer cancel()
	return a.kinds.find(ctx, kind, version)
}

// lacksKind is kinds.lack with a deadline.
func (a *apiServer) lacksKind(ctx context.Context, kind schema.GroupKind) bool {
	ctx, cancel := context.WithTimeout(ctx, a.requestTimeout)
	defer cancel()
	return a.kinds.lack(ctx, kind)
}

// resourceClient are the objects of a kind, in the version that the API server prefers.
func (a *apiServer) resourceClient(ctx context.Context, of kindScope) (dynamic.ResourceInterface, error) {
	m, err := a.findMapping(ctx, of.kind, "")
	if err != nil {
		return nil, err
	}
	if of.namespace != "" {
		return a.objects.Resource(m.Resource).Namespace(of.namespace), nil
	}
	return a.objects.Resource(m.Resource), nil
}

// objectClient is the place of one object.
type objectClient struct {
	api       *apiServer
	resource  dynamic.ResourceInterface
	namespace string
	name      string
}

func (a *apiServer) clientFor(m *meta.RESTMapping, namespace, name string) objectClient {
	o := objectClient{api: a, resource: a.objects.Resource(m.Resource), namespace: namespace, name: name}
	if namespace != "" {
		o.resource = a.objects.Resource(m.Resource).Namespace(namespace)
	}
	return o
}

// get is the object as it is; nil: it is not there.
func (o objectClient) get(ctx context.Context) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, o.api.requestTimeout)
	defer cancel()
	found, err := o.resource.Get(ctx, o.name, metav1.GetOptions{})
	if isMissing(err) {
		return nil, nil
	}
	return found, err
}

// apply writes an object by server-side apply. It must be the version that was read, if it was there.
func (o objectClient) apply(
	ctx context.Context, want map[string]any, read *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, o.api.requestTimeout)
	defer cancel()
	if read != nil {
		want = copyMap(want)
		m, _ := want["metadata"].(map[string]any)
		m = copyMap(m)
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
func (o objectClient) patch(ctx context.Context, text []byte) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, o.api.requestTimeout)
	defer cancel()
	return o.resource.Patch(ctx, o.name, types.JSONPatchType, text, metav1.PatchOptions{FieldManager: Manager})
}

// remove deletes the object if it is as it was read: neither another one of its name, nor one that a later generation
// was applied to. One that is gone already is no error.
func (o objectClient) remove(ctx context.Context, read *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, o.api.requestTimeout)
	defer cancel()
	uid, version, policy := read.GetUID(), read.GetResourceVersion(), metav1.DeletePropagationBackground
	err := o.resource.Delete(ctx, o.name, metav1.DeleteOptions{PropagationPolicy: &policy,
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	if isMissing(err) {
		return nil
	}
	return err
}

// isReady asks the API server whether it is there; an answer of any kind but "not ready" is one.
func (a *apiServer) isReady(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, a.requestTimeout)
	defer cancel()
	code := 0
	a.plain.Get().AbsPath("/readyz").MaxRetries(0).Do(ctx).StatusCode(&code)
	return code != 0 && code < http.StatusInternalServerError
}

// isMissing tells whether an object is not there, though its kind is (noKind).
func isMissing(err error) bool { return apierrors.IsNotFound(err) && !noKind(err) }

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

// isUnreachable tells whether there was no answer.
func isUnreachable(err error) bool {
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

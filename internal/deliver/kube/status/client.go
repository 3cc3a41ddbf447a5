package status

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/model"
)

const (
	// fieldManager is the name that the API server gives the writer of a status.
	fieldManager = "cardea-status"
	// requestTimeout is how long the API server may take to answer.
	requestTimeout = 15 * time.Second
)

// statusClients has one for each version of each group. They try once: when to try again is the queue's and the pause's
// to say.
type statusClients map[schema.GroupVersion]*rest.RESTClient

func newClients(config *rest.Config, kinds []*statusKind) (statusClients, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // of errors
	for _, k := range kinds {
		scheme.AddKnownTypeWithName(k.groupVersion().WithKind(k.String()), &object{})
		scheme.AddKnownTypeWithName(k.groupVersion().WithKind(k.String()+"List"), &objectList{})
		metav1.AddToGroupVersion(scheme, k.groupVersion())
	}
	codecs := serializer.NewCodecFactory(scheme).WithoutConversion()
	all := statusClients{}
	for _, k := range kinds {
		if all[k.groupVersion()] != nil {
			continue
		}
		c := unlimitedConfig(config)
		version := k.groupVersion()
		c.APIPath, c.GroupVersion, c.NegotiatedSerializer = "/apis", &version, codecs
		c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
		client, err := rest.RESTClientFor(c)
		if err != nil {
			return nil, err
		}
		all[k.groupVersion()] = client
	}
	return all, nil
}

// unlimitedConfig is a configuration with the limits of this package.
func unlimitedConfig(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.QPS, c.RateLimiter, c.Timeout = -1, nil, 0
	return c
}

func (c statusClients) list(ctx context.Context, k *statusKind, o metav1.ListOptions) (*objectList, error) {
	list := &objectList{}
	err := c[k.groupVersion()].Get().Resource(k.Plural).VersionedParams(&o,
		metav1.ParameterCodec).MaxRetries(0).Do(ctx).Into(list)
	return list, err
}

func (c statusClients) watch(ctx context.Context, k *statusKind, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return c[k.groupVersion()].Get().Resource(k.Plural).VersionedParams(&o, metav1.ParameterCodec).MaxRetries(0).Watch(ctx)
}

func (c statusClients) get(ctx context.Context, k *statusKind, ref model.ObjectRef) (*object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	o := &object{}
	err := c[k.groupVersion()].Get().NamespaceIfScoped(ref.Namespace(),
		ref.Namespace() != "").Resource(k.Plural).Name(ref.Name()).
		MaxRetries(0).Do(ctx).Into(o)
	return o, err
}

// patch changes fields of the status of the version that was read, and of no other.
func (c statusClients) patch(
	ctx context.Context, k *statusKind, ref model.ObjectRef, version uint64, status map[string]json.RawMessage,
) (*object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body := mustEncode(map[string]any{
		"metadata": map[string]string{"resourceVersion": strconv.FormatUint(version, 10)},
		"status":   status,
	})
	o := &object{}
	err := c[k.groupVersion()].Patch(types.MergePatchType).NamespaceIfScoped(ref.Namespace(),
		ref.Namespace() != "").Resource(k.Plural).Name(ref.Name()).
		SubResource("status").Param("fieldManager", fieldManager).Body([]byte(body)).MaxRetries(0).Do(ctx).Into(o)
	return o, err
}

package kube

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/model"
)

// codecsFor read every kind of a catalog, as it is sent. All versions of a kind have the same fields.
func codecsFor(catalog *kind.Catalog) serializer.CodecFactory {
	s := runtime.NewScheme()
	for _, k := range catalog.All() {
		for i := range k.Versions {
			k.Content.Install(s, k.GroupVersion(i), k.String())
		}
	}
	return serializer.NewCodecFactory(s)
}

// clusterClients reads from one API server, over one set of connections.
type clusterClients struct {
	typed    map[schema.GroupVersion]rest.Interface
	metadata metadata.Interface
	untyped  dynamic.Interface
}

func newClients(config *rest.Config, catalog *kind.Catalog) (*clusterClients, error) {
	// A watch is one request for minutes, and there are as many as Secrets: the API server's own priorities are limit
	// enough.
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	// that a version is deprecated is no news to who prefers the newer one
	config.WarningHandlerWithContext = rest.NoWarnings{}
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	c := &clusterClients{typed: map[schema.GroupVersion]rest.Interface{}}
	tryOnce := &http.Client{Transport: kubeclient.WithoutRetries(transport.Transport), Timeout: transport.Timeout}
	if c.metadata, err = metadata.NewForConfigAndClient(config, tryOnce); err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	if c.untyped, err = dynamic.NewForConfigAndClient(config, tryOnce); err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	codecs := codecsFor(catalog)
	for _, k := range catalog.All() {
		for i := range k.Versions {
			version := k.GroupVersion(i)
			if c.typed[version] != nil {
				continue
			}
			if c.typed[version], err = kubeclient.NewTypedClient(config, transport, version, k.Definition != nil,
				codecs); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// reader lists and watches objects of one kind: all, those of a namespace, or one.
type reader interface {
	List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// kindReader reads every object of a kind in one of its versions.
func (c *clusterClients) kindReader(k *kind.Kind, version schema.GroupVersion) reader {
	if k.ReadScope == kind.MetadataOnly {
		return metadataReader{c.metadata.Resource(version.WithResource(k.Plural))}
	}
	return typedReader{client: c.typed[version], resource: k.Plural}
}

// objectReader reads a single object, in the first of its kind's versions that is served.
func (c *clusterClients) objectReader(k *kind.Kind, namespace, name string) reader {
	all := make(firstServed, len(k.Versions))
	for i := range k.Versions {
		all[i] = typedReader{client: c.typed[k.GroupVersion(i)], resource: k.Plural, namespace: namespace}
	}
	if len(all) == 1 {
		return namedReader{all[0], name}
	}
	return namedReader{all, name}
}

// firstServed are readers of the versions of a kind; the first one counts that the API server has. A list is not found
// only if the version is not served.
type firstServed []reader

func (r firstServed) List(ctx context.Context, options metav1.ListOptions) (list runtime.Object, err error) {
	for _, version := range r {
		if list, err = version.List(ctx, options); !apierrors.IsNotFound(err) {
			break
		}
	}
	return list, err
}

func (r firstServed) Watch(ctx context.Context, options metav1.ListOptions) (w watch.Interface, err error) {
	for _, version := range r {
		if w, err = version.Watch(ctx, options); !apierrors.IsNotFound(err) {
			break
		}
	}
	return w, err
}

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// definitionReader reads the CustomResourceDefinition of a kind. It reads only the metadata of definitions of the
// Gateway API, which say there how new they are: the whole of one has hundreds of kilobytes.
func (c *clusterClients) definitionReader(k *kind.Kind) reader {
	if k.DefinedBy() == model.GatewayAPIOrigin {
		return namedReader{metadataReader{c.metadata.Resource(definitionResource)}, k.ResourceName()}
	}
	return namedReader{dynamicReader{c.untyped.Resource(definitionResource)}, k.ResourceName()}
}

type dynamicReader struct{ client dynamic.ResourceInterface }

func (w dynamicReader) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return w.client.List(ctx, options)
}

func (w dynamicReader) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.client.Watch(ctx, options)
}

type typedReader struct {
	client              rest.Interface
	resource, namespace string
}

// request makes a request that is tried once: the client library would sleep as long as an API server that ends or is
// busy asks for, and say nothing.
func (t typedReader) request(options *metav1.ListOptions) *rest.Request {
	return t.client.Get().NamespaceIfScoped(t.namespace, t.namespace != "").Resource(t.resource).VersionedParams(options,
		metav1.ParameterCodec).
		MaxRetries(0)
}

func (t typedReader) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return t.request(&options).Do(ctx).Get()
}

func (t typedReader) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	return t.request(&options).Watch(ctx)
}

type metadataReader struct{ client metadata.ResourceInterface }

func (m metadataReader) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return m.client.List(ctx, options)
}

func (m metadataReader) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return m.client.Watch(ctx, options)
}

// namedReader is a reader of the one object of that name.
type namedReader struct {
	reader
	name string
}

func (n namedReader) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, n.name).String()
	return n.reader.List(ctx, options)
}

func (n namedReader) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, n.name).String()
	return n.reader.Watch(ctx, options)
}

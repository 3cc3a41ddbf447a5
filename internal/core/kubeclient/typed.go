package kubeclient

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

const (
	asProtobuf = runtime.ContentTypeProtobuf
	asJSON     = runtime.ContentTypeJSON
)

// NewTypedClient makes a client for the kinds of one group and version, which codecs know. custom says that the kinds
// are defined by a CRD: the API server has them as JSON only.
func NewTypedClient(
	config *rest.Config, transport *http.Client, version schema.GroupVersion, custom bool,
	codecs serializer.CodecFactory,
) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = asProtobuf, asProtobuf+","+asJSON
	if custom {
		config.ContentType, config.AcceptContentTypes = asJSON, asJSON // the API server has them in no other form
	}
	return clientOf(config, transport, version, codecs)
}

// clientOf makes a client in the form that the configuration says.
func clientOf(
	config *rest.Config, transport *http.Client, version schema.GroupVersion, codecs serializer.CodecFactory,
) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = codecs.WithoutConversion()
	if version.Group == "" {
		config.APIPath = "/api"
	}
	client, err := rest.RESTClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server for %s: %w", version, err)
	}
	return client, nil
}

// Plain makes a client for paths that are no objects, in JSON.
func Plain(config *rest.Config, transport *http.Client) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // of errors
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = asJSON, asJSON
	return rest.UnversionedRESTClientForConfigAndClient(config, transport)
}

// Group makes a client for some kinds of one of Kubernetes' own groups, each with its list if it is listed, in the form
// that the configuration says. A clientset would do the same, but it brings every kind of Kubernetes into the program.
func Group(config *rest.Config, version schema.GroupVersion, kinds ...runtime.Object) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(version, kinds...)
	metav1.AddToGroupVersion(scheme, version)
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server for %s: %w", version, err)
	}
	return clientOf(config, transport, version, serializer.NewCodecFactory(scheme))
}

package kubeclient

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

const (
	asProtobuf = runtime.ContentTypeProtobuf
	asJSON     = runtime.ContentTypeJSON
)

// Typed makes a client for the kinds of one group and version, which codecs know. custom says that the kinds are
// defined by a CRD: the API server has them as JSON only.
func Typed(
	config *rest.Config, transport *http.Client, version schema.GroupVersion, custom bool,
	codecs serializer.CodecFactory,
) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = codecs.WithoutConversion()
	if version.Group == "" {
		config.APIPath = "/api"
	}
	config.ContentType, config.AcceptContentTypes = asProtobuf, asProtobuf+","+asJSON
	if custom {
		config.ContentType, config.AcceptContentTypes = asJSON, asJSON // the API server has them in no other form
	}
	client, err := rest.RESTClientForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server for %s: %w", version, err)
	}
	return client, nil
}

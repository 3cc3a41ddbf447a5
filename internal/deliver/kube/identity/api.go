package identity

import (
	"context"
	"fmt"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
)

const (
	requestsResource = "podcertificaterequests"
	bundlesResource  = "clustertrustbundles"
)

// versions are those of the two kinds, the preferred one first. All fields of v1 are in v1beta1 as well, with the same
// names, so the types of v1beta1 are used for both.
var versions = []schema.GroupVersion{
	{Group: certificatesv1beta1.GroupName, Version: "v1"}, {Group: certificatesv1beta1.GroupName, Version: "v1beta1"},
}

// apiClient speaks with the API server.
type apiClient struct {
	pods    rest.Interface
	clients map[schema.GroupVersion]rest.Interface
}

func newAPI(config *rest.Config) (*apiClient, error) {
	pods, err := kubeclient.Group(config, corev1.SchemeGroupVersion, &corev1.Pod{})
	if err != nil {
		return nil, err
	}
	a := &apiClient{pods: pods, clients: map[schema.GroupVersion]rest.Interface{}}
	for _, version := range versions {
		if a.clients[version], err = clientOf(config, version); err != nil {
			return nil, fmt.Errorf("connect to the API server for %s: %w", version, err)
		}
	}
	return a, nil
}

func clientOf(config *rest.Config, version schema.GroupVersion) (rest.Interface, error) {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(version.WithKind("PodCertificateRequest"), &certificatesv1beta1.PodCertificateRequest{})
	s.AddKnownTypeWithName(version.WithKind("PodCertificateRequestList"), &certificatesv1beta1.PodCertificateRequestList{})
	s.AddKnownTypeWithName(version.WithKind("ClusterTrustBundle"), &certificatesv1beta1.ClusterTrustBundle{})
	s.AddKnownTypeWithName(version.WithKind("ClusterTrustBundleList"), &certificatesv1beta1.ClusterTrustBundleList{})
	metav1.AddToGroupVersion(s, version)
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(s).WithoutConversion()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.WarningHandlerWithContext = rest.NoWarnings{} // that a version is deprecated is no news
	return rest.RESTClientFor(config)
}

// findServed is a client of the version in which a resource is served; nil: it is not.
func (a *apiClient) findServed(ctx context.Context, resource string) (rest.Interface, error) {
	for _, version := range versions {
		list := &metav1.APIResourceList{}
		err := a.clients[version].Get().AbsPath("/apis/" + version.String()).Do(ctx).Into(list)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if r.Name == resource {
				return a.clients[version], nil
			}
		}
	}
	return nil, nil
}

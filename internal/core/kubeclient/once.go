package kubeclient

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// NoRetryConfig makes a configuration for clients that make each request once, where a client has no option for that:
// the client library would sleep as long as an API server that ends or is busy asks for (Retry-After), ten times over,
// say nothing, and hold up who else waits for the caller. When to try again is the caller's to say. A client of one's
// own asks with MaxRetries(0), and learns how long the API server wants it to wait.
func NoRetryConfig(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(WithoutRetries)
	return config
}

// WithoutRetries is the transport of such a configuration.
func WithoutRetries(next http.RoundTripper) http.RoundTripper { return noRetryTransport{next} }

// noRetryTransport takes the one word away for which the client library makes a request again.
type noRetryTransport struct{ http.RoundTripper }

func (o noRetryTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(request)
	if response != nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// WrappedRoundTripper is for those who look for what is below.
func (o noRetryTransport) WrappedRoundTripper() http.RoundTripper { return o.RoundTripper }

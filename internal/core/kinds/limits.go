package kinds

// httpRouteLimits says of fields of an HTTPRoute what is refused of them (see kind.Page).
var httpRouteLimits = map[string]string{
	"useDefaultGateways": "refused: name the Gateway in parentRefs",
	"rules[].filters[].extensionRef.kind": "SecurityPolicy, TrafficPolicy, AccessPolicy, MCPTools and kinds of " +
		"policies that plug-ins bring; others are refused",
	"rules[].filters[].type": "CORS and RequestMirror beside RequestRedirect are refused",
	"rules[].filters[].cors.exposeHeaders": "`*` together with allowCredentials exposes nothing, with a " +
		"warning",
	"rules[].filters[].externalAuth.forwardBody.maxSize": "a longer body is refused (413), not cut",
	"rules[].sessionPersistence.cookie.path":             "`;` and all but printable ASCII is refused",
	"rules[].backendRefs[].filters[]": "all of them; a filter that repeats one of the rule's own is rejected, except " +
		"headers and mirrors",
	"rules[].backendRefs[].kind":                      backendLimit(true),
	"rules[].filters[].requestMirror.backendRef.kind": backendLimit(false),
	"rules[].filters[].externalAuth.backendRef.kind":  backendLimit(false),
	"rules[].retry.attempts":                          "more than 10 count as 10, with a warning",
	"rules[].retry.backoff":                           "0s is refused",
	"rules[].timeouts.backendRequest":                 "with retry, an attempt that was reset is tried again, too",
	"rules[].sessionPersistence.absoluteTimeout":      "for a Permanent cookie; else refused",
	"parentRefs[].kind":                               "Gateway and ListenerSet; other kinds are ignored",

	"rules[].filters[].externalAuth.http.allowedResponseHeaders": "Host, `x-envoy-*`, and what a header modifier can't " +
		"state are refused",
}

// grpcRouteLimits says the same of a GRPCRoute's fields.
var grpcRouteLimits = map[string]string{
	"useDefaultGateways": "refused: name the Gateway in parentRefs",
	"rules[].filters[].extensionRef.kind": "SecurityPolicy, TrafficPolicy and kinds of " +
		"policies that plug-ins bring; others are refused",
	"rules[].sessionPersistence.cookie.path":          "`;` and all but printable ASCII is refused",
	"rules[].backendRefs[].filters[]":                 "all of them",
	"rules[].backendRefs[].kind":                      backendLimit(true),
	"rules[].filters[].requestMirror.backendRef.kind": backendLimit(false),
	"rules[].sessionPersistence.absoluteTimeout":      "for a Permanent cookie; else refused",
	"parentRefs[].kind":                               "Gateway and ListenerSet; other kinds are ignored",
}

// xBackendLimits says the same of an XBackend's fields.
var xBackendLimits = map[string]string{
	"endpointSelector.matchLabels": "in a folder, the label `cardea.dev/xbackend` of EndpointSlices in its " +
		"place",
	"sessionPersistence.absoluteTimeout": "for a Permanent cookie; else refused",
	"sessionPersistence.cookie.path":     "`;` and all but printable ASCII is refused",
	"externalHostname.hostname": "an IP address is refused (use a Service and an EndpointSlice); in a cluster, so are " +
		"`localhost`, names of one label and names of the cluster",
	"protocol":                                 "TCP is refused",
	"tls.clientCertificateRef.group":           "the core group; others are refused",
	"tls.clientCertificateRef.kind":            "Secret, of type kubernetes.io/tls; others are refused",
	"tls.clientCertificateRef.namespace":       "another one needs a ReferenceGrant there, from XBackends to Secrets",
	"tls.validation.caCertificateRefs[].group": "the core group and certificates.k8s.io; others are refused",
	"tls.validation.caCertificateRefs[].kind":  "ConfigMap and ClusterTrustBundle; others are refused",
	"tls.validation.wellKnownCACertificates":   "System; others are refused",
}

// backendTLSPolicyLimits says the same of a BackendTLSPolicy's fields.
var backendTLSPolicyLimits = map[string]string{
	"targetRefs[].group":                   "the core group; others are refused",
	"targetRefs[].kind":                    "Service; others are refused",
	"validation.caCertificateRefs[].group": "the core group and certificates.k8s.io; others are refused",
	"validation.caCertificateRefs[].kind":  "ConfigMap and ClusterTrustBundle; others are refused",
	"validation.wellKnownCACertificates":   "System; others are refused",
	"options":                              "refused: no option is known; a warning",
}

// connectionRouteLimits says the same of the fields of routes for connections.
func connectionRouteLimits() map[string]string {
	return map[string]string{
		"useDefaultGateways":         "refused: name the Gateway in parentRefs",
		"parentRefs[].kind":          "Gateway and ListenerSet; other kinds are ignored",
		"rules[].backendRefs[].kind": "Service and XBackend; others are refused",
	}
}

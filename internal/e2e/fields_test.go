package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

// limited says of fields of an HTTPRoute what is refused of them; of those that are refused whole, "refused: ...".
var limited = map[string]string{
	"useDefaultGateways":                   "refused: name the Gateway in parentRefs",
	"rules[].filters[].extensionRef.group": "refused: no kind of filter is known",
	"rules[].filters[].extensionRef.kind":  "refused: no kind of filter is known",
	"rules[].filters[].extensionRef.name":  "refused: no kind of filter is known",
	"rules[].filters[].type": "CORS or RequestMirror beside RequestRedirect, and " +
		"ExtensionRef, are refused",
	"rules[].filters[].cors.exposeHeaders": "`*` together with allowCredentials exposes nothing, with a " +
		"warning",
	"rules[].filters[].externalAuth.forwardBody.maxSize": "a longer body is refused (413), not cut",
	"rules[].sessionPersistence.cookie.path":             "`;` and all but printable ASCII is refused",
	"rules[].backendRefs[].filters[]": "all of them; what the rule's own filters do, too, is " +
		"refused, but for headers and mirrors",
	"rules[].backendRefs[].kind":                      "Service and XBackend; others are refused",
	"rules[].filters[].requestMirror.backendRef.kind": "Service and XBackend; others are refused",
	"rules[].filters[].externalAuth.backendRef.kind":  "Service and XBackend; others are refused",
	"rules[].retry.backoff":                           "0s is refused",
	"rules[].timeouts.backendRequest":                 "with retry, an attempt that was reset is tried again, too",
	"rules[].sessionPersistence.absoluteTimeout":      "for a Permanent cookie; else refused",
	"parentRefs[].kind":                               "Gateway; others are left to others",

	"rules[].filters[].externalAuth.http.allowedResponseHeaders": "Host, `x-envoy-*`, and what a header modifier can't " +
		"state are refused",
}

// limitedGRPCRoute says the same of a GRPCRoute's fields.
var limitedGRPCRoute = map[string]string{
	"useDefaultGateways":                              "refused: name the Gateway in parentRefs",
	"rules[].filters[].extensionRef.group":            "refused: no kind of filter is known",
	"rules[].filters[].extensionRef.kind":             "refused: no kind of filter is known",
	"rules[].filters[].extensionRef.name":             "refused: no kind of filter is known",
	"rules[].filters[].type":                          "ExtensionRef is refused",
	"rules[].sessionPersistence.cookie.path":          "`;` and all but printable ASCII is refused",
	"rules[].backendRefs[].filters[]":                 "all of them",
	"rules[].backendRefs[].kind":                      "Service and XBackend; others are refused",
	"rules[].filters[].requestMirror.backendRef.kind": "Service and XBackend; others are refused",
	"rules[].sessionPersistence.absoluteTimeout":      "for a Permanent cookie; else refused",
	"parentRefs[].kind":                               "Gateway; others are left to others",
}

// limitedXBackend says the same of an XBackend's fields.
var limitedXBackend = map[string]string{
	"endpointSelector.matchLabels": "in a folder, the label `cardea.dev/xbackend` of EndpointSlices in its " +
		"place",
	"sessionPersistence.absoluteTimeout":       "for a Permanent cookie; else refused",
	"sessionPersistence.cookie.path":           "`;` and all but printable ASCII is refused",
	"externalHostname.hostname":                "an IP address is refused",
	"protocol":                                 "TCP is refused",
	"tls.clientCertificateRef.group":           "the core group; others are refused",
	"tls.clientCertificateRef.kind":            "Secret, of type kubernetes.io/tls; others are refused",
	"tls.clientCertificateRef.namespace":       "another one needs a ReferenceGrant there, from XBackends to Secrets",
	"tls.validation.caCertificateRefs[].group": "the core group; others are refused",
	"tls.validation.caCertificateRefs[].kind":  "ConfigMap; others are refused",
	"tls.validation.wellKnownCACertificates":   "System; others are refused",
}

// inCluster are stories that show what a field does that does nothing in a folder.
var inCluster = map[string]string{"endpointSelector.matchLabels": "kubernetes/selectors_test.go"}

// TestFields: every field of a kind stands in a file of testdata whose calls are made, in an object that is served, and
// with another value, or none, a call would be answered otherwise. Of a field that is refused, something else would be
// found. A document says so.
func TestFields(t *testing.T) {
	files := readPerturbed(t)
	fieldsOf(t, files, "HTTPRoute", reflect.TypeFor[gatewayv1.HTTPRouteSpec](), limited, "../../docs/httproute.md")
	fieldsOf(t, files, "GRPCRoute", reflect.TypeFor[gatewayv1.GRPCRouteSpec](), limitedGRPCRoute,
		"../../docs/grpcroute.md")
	fieldsOf(t, files, "XBackend", reflect.TypeFor[xgatewayv1alpha1.BackendSpec](), limitedXBackend,
		"../../docs/xbackend.md")
}

func fieldsOf(
	t *testing.T, files *perturbed, kind string, spec reflect.Type, limited map[string]string, document string,
) {
	t.Helper()
	var fields []string
	leaves(spec, "", &fields)
	for field := range limited {
		if !slices.Contains(fields, field) {
			t.Errorf("%s: %s is no field", kind, field)
		}
	}
	table := "| field | served | for example |\n|---|---|---|\n"
	for _, field := range fields {
		limit, served := limited[field], "yes"
		refused := strings.HasPrefix(limit, "refused")
		if refused {
			served = limit
		} else if limit != "" {
			served = "yes; " + limit
		}
		var links []string
		if story := inCluster[field]; story != "" {
			links = append(links, fmt.Sprintf("[%s](../internal/e2e/%s)", filepath.Base(story), story))
		} else {
			for _, name := range files.showing(t, kind, field, refused, 2) {
				links = append(links, fmt.Sprintf("[%s](../internal/e2e/testdata/%s.txtar)", name, name))
			}
		}
		if len(links) == 0 {
			t.Errorf("%s: %s: no file of testdata shows what it does", kind, field)
		}
		table += fmt.Sprintf("| `%s` | %s | %s |\n", field, served, strings.Join(links, ", "))
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	head, old, _ := strings.Cut(string(text), "| field |")
	if "| field |"+old == table {
		return
	}
	if !*update {
		t.Fatalf("%s is not what `make golden` writes", document)
	}
	if err := os.WriteFile(document, []byte(head+table), 0o644); err != nil {
		t.Fatal(err)
	}
}

// leaves lists the fields of a type, but not twice the filters, which backendRefs have, too.
func leaves(t reflect.Type, path string, list *[]string) {
	switch t.Kind() {
	case reflect.Pointer:
		leaves(t.Elem(), path, list)
		return
	case reflect.Slice:
		path += "[]"
		if e := t.Elem(); e.Kind() == reflect.Struct && path != "rules[].backendRefs[].filters[]" {
			leaves(e, path, list)
			return
		}
		if t.Elem().Kind() != reflect.Struct {
			path = strings.TrimSuffix(path, "[]")
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "":
				leaves(f.Type, path, list)
			case path == "":
				leaves(f.Type, name, list)
			default:
				leaves(f.Type, path+"."+name, list)
			}
		}
		return
	}
	*list = append(*list, path)
}

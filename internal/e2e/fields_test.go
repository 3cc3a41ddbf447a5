package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// limited says of fields of an HTTPRoute what is refused of them; of those that are refused whole, "refused: ...".
var limited = map[string]string{
	"useDefaultGateways":                                 "refused: name the Gateway in parentRefs",
	"rules[].filters[].extensionRef.group":               "refused: no kind of filter is known",
	"rules[].filters[].extensionRef.kind":                "refused: no kind of filter is known",
	"rules[].filters[].extensionRef.name":                "refused: no kind of filter is known",
	"rules[].filters[].type":                             "CORS or RequestMirror beside RequestRedirect, and ExtensionRef, are refused",
	"rules[].filters[].cors.exposeHeaders":               "`*` together with allowCredentials exposes nothing, with a warning",
	"rules[].filters[].externalAuth.forwardBody.maxSize": "a longer body is refused (413), not cut",
	"rules[].backendRefs[].filters[]":                    "all of them; what the rule's own filters do, too, is refused, but for headers and mirrors",
	"rules[].backendRefs[].kind":                         "Service and XBackend; others are refused",
	"rules[].filters[].requestMirror.backendRef.kind":    "Service and XBackend; others are refused",
	"rules[].filters[].externalAuth.backendRef.kind":     "Service and XBackend; others are refused",
	"rules[].retry.backoff":                              "0s is refused",
	"rules[].timeouts.backendRequest":                    "with retry, an attempt that was reset is tried again, too",
	"rules[].sessionPersistence.absoluteTimeout":         "for a Permanent cookie; else refused",
	"rules[].sessionPersistence.type":                    "refused for rules with several backendRefs that have a weight",
	"parentRefs[].kind":                                  "Gateway; others are left to others",
}

// document is where the table of fields stands.
const document = "../../docs/httproute.md"

// TestFields: every field of an HTTPRoute is set by a file of testdata that checks what comes of it, and docs/httproute.md says so.
func TestFields(t *testing.T) {
	files := filesByField(t)
	var fields []string
	leaves(reflect.TypeFor[gatewayv1.HTTPRouteSpec](), "", &fields)
	for field := range limited {
		if !slices.Contains(fields, field) {
			t.Errorf("%s is no field", field)
		}
	}
	table := "| field | served | for example |\n|---|---|---|\n"
	for _, field := range fields {
		names := slices.Sorted(maps.Keys(files[field]))
		if len(names) == 0 {
			t.Errorf("%s: no file of testdata sets it and checks what comes of it", field)
		}
		served := "yes"
		if limit := limited[field]; strings.HasPrefix(limit, "refused") {
			served = limit
		} else if limit != "" {
			served = "yes; " + limit
		}
		var links []string
		for _, name := range names[:min(2, len(names))] {
			links = append(links, fmt.Sprintf("[%s](../internal/e2e/testdata/%s.txtar)", name, name))
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

// filesByField finds, for each field of an HTTPRoute, the files that set it.
func filesByField(t *testing.T) map[string]map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	files := map[string]map[string]bool{}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checked := slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "calls" || f.Name == "findings" })
		for _, f := range archive.Files {
			if !checked || !strings.HasSuffix(f.Name, ".yaml") || f.Name == "config.yaml" {
				continue
			}
			for _, object := range strings.Split(placeholder.ReplaceAllLiteralString(string(f.Data), "1"), "\n---\n") {
				var route struct {
					Kind string
					Spec any
				}
				if err := yaml.Unmarshal([]byte(object), &route); err != nil || route.Kind != "HTTPRoute" {
					continue
				}
				set(route.Spec, "", func(field string) {
					if files[field] == nil {
						files[field] = map[string]bool{}
					}
					files[field][strings.TrimSuffix(filepath.Base(path), ".txtar")] = true
				})
			}
		}
	}
	return files
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

// set visits the fields that an object sets, in the words of leaves.
func set(value any, path string, visit func(string)) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			set(v, strings.TrimPrefix(path+"."+name, "."), visit)
		}
	case []any:
		visit(path)
		visit(path + "[]")
		for _, v := range value {
			set(v, path+"[]", visit)
		}
	default:
		visit(path)
	}
}

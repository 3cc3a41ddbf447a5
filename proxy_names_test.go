package cardea

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// proxyName is that of the proxy that some packages know.
const proxyName = "envoy"

// knowsProxy has the files outside of the dialects, and of what features render for them, that name the proxy, each
// with the reason. A pattern without a star is a folder's name.
var knowsProxy = map[string]string{
	"api/v1alpha1/dataplane.go":            "the values of DataPlane.spec.proxy, which users write",
	"internal/app/dataplanes":              "the list of dialects",
	"internal/core/kinds/limits.go":        "headers that steer the proxy, as users are told",
	"extend/extauth.go":                    "headers that steer the proxy",
	"internal/core/model/pool.go":          "metadata, of the protocol of endpoint pickers",
	"internal/epp":                         "the protocol of endpoint pickers, and its Go packages",
	"internal/deliver/xds":                 "the Go packages of xDS",
	"internal/deliver/kube/proxies/pod.go": "the name of the container, which users patch",
	"internal/ops/cli/standalone.go":       "the flag --envoy, and the variable of that name",
	"internal/translate/gateway/proxy.go":  "the prefix of names of objects that clusters have",
}

// TestProxyIsNamedByItsDialectOnly: no name, import or text in the program's own code is of one proxy, but in its
// dialect. So another data plane is a package of its own. Comments may cite where something is from.
func TestProxyIsNamedByItsDialectOnly(t *testing.T) {
	used := map[string]bool{}
	visit(t, func(file string) {
		file = filepath.ToSlash(file)
		if !isProgram(file) || isOfProxy(file) {
			return
		}
		found := proxyNames(t, file)
		for pattern := range knowsProxy {
			if matches(pattern, file) && len(found) > 0 {
				used[pattern] = true
				return
			}
		}
		for _, where := range found {
			t.Errorf("%s: the proxy is named outside of its dialect", where)
		}
	})
	for pattern := range knowsProxy {
		if !used[pattern] {
			t.Errorf("%s does not name the proxy: take it out of the list in this file", pattern)
		}
	}
}

// isOfProxy tells whether a file is a dialect's, or what a feature renders for it.
func isOfProxy(file string) bool {
	return strings.HasPrefix(file, "internal/dataplane/") || strings.HasPrefix(file, "extend/envoy/") ||
		matches("internal/features/*/envoy*.go", file)
}

func matches(pattern, file string) bool {
	is, err := path.Match(pattern, file)
	return err == nil && is || path.Dir(file) == pattern
}

// proxyNames are the places in a file that name the proxy.
func proxyNames(t *testing.T, file string) (found []string) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		text := ""
		switch n := n.(type) {
		case *ast.Ident:
			text = n.Name
		case *ast.BasicLit:
			text = n.Value
		}
		if strings.Contains(strings.ToLower(text), proxyName) {
			found = append(found, set.Position(n.Pos()).String()+" "+text)
		}
		return true
	})
	return slices.Compact(found)
}

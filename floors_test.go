package cardea

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "cardea.dev/cardea/"

// towers lists every package, from the top floor to the bottom one. A package may import lower floors of its own tower
// and the ground; only the roof joins towers. A package that is not listed fails the test: put it where it belongs. All
// of internal/features are a tower of one floor.
var towers = map[string][]string{
	"roof": {"cmd/cardea", "internal/test/e2e/kubernetes", "extendtest", "internal/test/e2e", "internal/ops/cli", "internal/ops/ledgercmd",
		"internal/app/ledgerserver",
		"internal/ops/mcpclient", "internal/app/snapshot",
		"internal/app/controller", "internal/app/standalone", "internal/app/eppchild", "internal/app/assembly", "internal/app/unreached",
		"internal/app/ledgerlive", "internal/ops/ledgerpreview",
		"internal/ops/objects", "internal/ops/admin", "internal/ops/diff", "internal/ops/explain", "internal/app/world",
		"internal/app/dataplanes", "internal/app/builtin", "internal/app/pluginbuild"},
	"meaning": {"internal/translate/gateway", "internal/translate/policy", "internal/translate/budget", "internal/translate/conditions",
		"internal/translate/resolve"},
	"dialects": {"internal/dataplane/envoy/files", "internal/dataplane/envoy", "internal/dataplane/envoy/simulate", "internal/dataplane/envoy/httpfilters"},
	"edges": {"internal/source/ledgerfeed", "internal/ledger/apply", "internal/ledger/admission",
		"internal/ledger/compat", "internal/ledger/rest",
		"internal/ledger/client", "internal/ledger/auth", "internal/ledger/wire", "internal/ledger/store",
		"internal/source/kube", "internal/source/files", "internal/source/lifecycle", "internal/source/synthetic", "internal/source/fetch",
		"internal/source/lastgood", "internal/source/machine",
		"internal/source/validcache", "internal/core/schema", "internal/deliver/xds", "internal/deliver/filesync", "internal/deliver/process",
		"internal/deliver/workload", "internal/deliver/kube/identity", "internal/deliver/certs",
		"internal/deliver/kube/status", "internal/deliver/kube/epp", "internal/deliver/kube/proxies", "internal/deliver/kube/queue",
		"internal/test/cluster", "internal/test/cluster/kubelet", "internal/test/cluster/services",
		"internal/test/cluster/mirror",
		"internal/test/cluster/container", "internal/test/cluster/sandbox"},
	"picker": {"internal/epp", "internal/epp/cluster", "internal/epp/members",
		"internal/epp/servers",
		"internal/epp/objectives", "internal/epp/rewrite", "internal/epp/score",
		"internal/epp/prefix", "internal/epp/prompt"},
	"ground": {"internal/core/fielddoc",
		"internal/core/policycrd", "internal/translate/policy/merge", "internal/core/dataplane", "internal/core/plan", "internal/core/kinds",
		"internal/core/input", "extend", "internal/core/request",
		"internal/core/resource", "internal/core/kind", "internal/core/flow", "internal/core/model", "api/v1alpha1", "api/agentic/v0alpha0",
		"api/inference/v1", "api/inference/v1alpha2",
		"internal/test/ledgertest", "internal/ledger/scope", "internal/core/ledger",
		"internal/test/postgrestest", "internal/core/certfile", "internal/core/webserver", "internal/test/testcert", "internal/test/bodytest",
		"internal/core/kubeclient",
		"internal/test/promtext", "examples/calls"},
}

// apart are programs and tools, which nothing imports: they may use what they like.
var apart = []string{"deploy", "examples", "internal/test/e2e/parts", "extend/schemagen", "hack/", "internal/core/kinds/generate"}

// declared names the packages that may import a dialect: the list of data planes, and the tests of the whole program.
// Others are passed a dataplane.Dialect.
var declared = []string{"internal/app/dataplanes", "internal/test/e2e", "internal/test/e2e/kubernetes"}

// libraries names the packages that may import a library, by the library's path; every other one is free to all.
var libraries = map[string][]string{
	"github.com/envoyproxy/": {"internal/dataplane/envoy/files", "internal/dataplane/envoy", "internal/dataplane/envoy/simulate", "internal/dataplane/envoy/httpfilters",
		"internal/deliver/xds", "internal/test/e2e", "internal/epp", "extend"},
	"github.com/google/cel-go":         {"extend"},
	"github.com/modelcontextprotocol/": {"internal/ops/mcpclient"},
	"github.com/spiffe/":               {"internal/deliver/workload", "internal/test/e2e"},
	"google.golang.org/grpc": {"internal/deliver/xds", "internal/deliver/workload", "internal/app/standalone", "internal/app/controller",
		"internal/test/e2e", "internal/epp"},
	"google.golang.org/protobuf": {"internal/dataplane/envoy/files", "internal/dataplane/envoy", "internal/dataplane/envoy/simulate", "internal/dataplane/envoy/httpfilters",
		"internal/deliver/xds", "internal/epp", "internal/test/e2e", "extend"},
	"k8s.io/client-go": {
		"internal/ledger/apply", "internal/ledger/auth", "internal/app/ledgerserver", "internal/epp/cluster",
		"internal/source/kube", "internal/deliver/certs", "internal/deliver/kube/identity", "internal/deliver/kube/status", "internal/deliver/kube/proxies", "internal/deliver/kube/epp",
		"internal/deliver/kube/queue", "internal/app/controller",
		"internal/ops/cli",
		"internal/test/cluster", "internal/test/cluster/kubelet", "internal/test/cluster/services",
		"internal/test/cluster/mirror",
	},
	"github.com/jackc/":              {"internal/ledger/store", "internal/test/postgrestest"},
	"modernc.org/":                   {"internal/ledger/store"},
	"github.com/pressly/":            {"internal/ledger/store"},
	"github.com/danielgtaylor/":      {"internal/ledger/rest"},
	"github.com/getkin/":             {"internal/ledger/rest"},
	"github.com/coreos/go-oidc":      {"internal/ledger/auth"},
	"github.com/vishvananda/":        {"internal/test/cluster/container", "internal/test/cluster/sandbox"},
	"k8s.io/apiextensions-apiserver": {"internal/core/schema", "api/v1alpha1", "internal/deliver/kube/proxies"},
	"k8s.io/apiserver":               {"internal/core/schema"},
	"k8s.io/kube-openapi":            {"internal/translate/policy/merge"},
	"sigs.k8s.io/structured-merge-":  {"internal/translate/policy/merge"},
	"github.com/fsnotify/":           {"internal/source/files", "internal/ledger/store", "internal/epp/members"},
	"github.com/spf13/":              {"cmd/cardea", "internal/ops/cli", "internal/ops/ledgercmd"},
	"github.com/prometheus/": {
		"internal/deliver/xds", "internal/deliver/filesync", "internal/source/kube", "internal/deliver/certs", "internal/deliver/kube/identity", "internal/deliver/kube/status",
		"internal/deliver/kube/proxies", "internal/ops/admin", "internal/app/standalone", "internal/app/assembly", "internal/source/fetch",
		"internal/ledger/apply", "internal/app/ledgerserver", "internal/epp", "internal/epp/servers",
	},
	"sigs.k8s.io/gateway-api/": {
		"internal/translate/gateway", "internal/translate/conditions", "internal/core/input", "internal/core/kind", "internal/core/kinds", "internal/source/files",
		"internal/source/synthetic", "internal/source/ledgerfeed",
		"internal/translate/policy",
		"internal/source/kube", "internal/deliver/kube/proxies", "internal/core/policycrd", "internal/test/e2e", "extend",
	},
	"sigs.k8s.io/gateway-api/conformance": {},
}

func TestFloors(t *testing.T) {
	found := packages(t)
	for tower, floors := range towers {
		for _, pkg := range floors {
			if _, exists := found[pkg]; !exists {
				t.Errorf("the %s has no %s: take it out of the table in this file", tower, pkg)
			}
		}
	}
	for pkg, imports := range found {
		if isApart(pkg) || pkg == "" {
			continue
		}
		tower, floor := find(pkg)
		if tower == "" {
			t.Errorf("%s stands in no tower: add it to the table in this file", pkg)
			continue
		}
		for _, path := range imports {
			own, ok := strings.CutPrefix(path, module)
			if !ok {
				checkLibrary(t, pkg, path)
				continue
			}
			under, depth := find(own)
			if own == "extend" && tower == "features" {
				continue
			}
			if !allowed(tower, floor, under, depth) {
				t.Errorf("%s (%s) must not import %s (%s)", pkg, tower, own, under)
			}
			if under == "dialects" && tower != "dialects" && !slices.Contains(declared, pkg) {
				t.Errorf("%s must not import %s: data planes are passed to it as a list of dialect.Dialect", pkg, own)
			}
		}
	}
}

func allowed(tower string, floor int, under string, depth int) bool {
	if tower == "features" {
		return false // but for package extend, as for anybody's feature
	}
	return under == "ground" && tower != "ground" || tower == "roof" && under != "roof" && under != "" || tower == under &&
		depth > floor
}

func checkLibrary(t *testing.T, pkg, path string) {
	t.Helper()
	tower, _ := find(pkg)
	if pkg == "internal/core/model" && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		t.Errorf("%s (%s) imports %s: it may use the standard library only", pkg, tower, path)
	}
	owners, longest := []string(nil), ""
	for prefix, list := range libraries {
		if strings.HasPrefix(path, prefix) && len(prefix) > len(longest) {
			owners, longest = list, prefix
		}
	}
	if longest != "" && !slices.Contains(owners, pkg) && !(tower == "features" && slices.Contains(owners, "extend")) {
		t.Errorf("%s imports %s, which belongs to %v", pkg, path, owners)
	}
}

func find(pkg string) (tower string, floor int) {
	for name, floors := range towers {
		if i := slices.Index(floors, pkg); i >= 0 {
			return name, i
		}
	}
	if strings.HasPrefix(pkg, "internal/features/") {
		return "features", 0
	}
	return "", 0
}

func isApart(pkg string) bool {
	return slices.ContainsFunc(apart, func(prefix string) bool { return strings.HasPrefix(pkg, prefix) })
}

// packages maps each package's folder to what its files (but for tests) import.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	visit(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		if pkg == "." {
			pkg = ""
		}
		if _, known := found[pkg]; !known {
			found[pkg] = nil
		}
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			found[pkg] = append(found[pkg], name)
		}
	})
	return found
}

// TestPackageComments wants a comment in every package, of more than a line, in one place, that starts as godoc wants
// it.
func TestPackageComments(t *testing.T) {
	comments := map[string][]string{}
	names := map[string]string{}
	visit(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		pkg := filepath.ToSlash(filepath.Dir(path))
		names[pkg] = file.Name.Name
		if file.Doc != nil {
			comments[pkg] = append(comments[pkg], file.Doc.Text())
		}
	})
	for pkg, name := range names {
		list := comments[pkg]
		if len(list) != 1 {
			t.Errorf("%s has %d package comments, want 1", pkg, len(list))
			continue
		}
		start := "Package " + name + " "
		if name == "main" {
			start = "Command "
		}
		if !strings.HasPrefix(list[0], start) {
			t.Errorf("%s: the package comment should start with %q", pkg, start)
		}
		if strings.HasPrefix(pkg, "internal/") && !isApart(pkg) &&
			!strings.Contains(strings.Join(strings.Fields(list[0]), " "), "must never know") {
			t.Errorf("%s: the package comment should say what the package must never know", pkg)
		}
	}
}

func visit(t *testing.T, do func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && d.Type().IsRegular() {
			do(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestArchitecture: the table of ARCHITECTURE.md names every package of this one, but for tests and what serves a
// package beside it.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, floors := range towers {
		for _, pkg := range floors {
			name := strings.TrimPrefix(pkg, "internal/")
			if strings.Contains(name, "/") && strings.HasPrefix(pkg, "internal/") || name == "e2e" {
				continue
			}
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("ARCHITECTURE.md does not name `%s`", name)
			}
		}
	}
}

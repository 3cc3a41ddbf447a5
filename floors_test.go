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
	"roof": {"cmd/cardea", "internal/e2e/kubernetes", "extendtest", "internal/e2e", "internal/cli", "internal/ledgercmd",
		"internal/ledgerserver",
		"internal/inventory", "internal/snapshot",
		"internal/server", "internal/standalone", "internal/pickerchild", "internal/assembly",
		"internal/ledger/live", "internal/ledger/preview",
		"internal/objects", "internal/admin", "internal/diff", "internal/explain", "internal/world",
		"internal/dataplanes", "internal/builtin", "internal/build"},
	"meaning": {"internal/gateway", "internal/policy", "internal/budget", "internal/conditions",
		"internal/resolve"},
	"dialects": {"internal/envoystatic", "internal/envoy", "internal/simulate", "internal/slots"},
	"edges": {"internal/ledger/feed", "internal/ledger/apply", "internal/ledger/admit",
		"internal/ledger/kontrol", "internal/ledger/rest",
		"internal/ledger/client", "internal/ledger/caller", "internal/ledger/wire", "internal/ledger/store",
		"internal/kube", "internal/files", "internal/arrival", "internal/implied", "internal/fetch",
		"internal/lastgood", "internal/machine",
		"internal/memory", "internal/schema", "internal/xds", "internal/proxyfiles", "internal/process",
		"internal/workload", "internal/identity", "internal/certs",
		"internal/status", "internal/pickers", "internal/deploy", "internal/reconcile",
		"internal/testcluster", "internal/testcluster/kubelet", "internal/testcluster/services",
		"internal/testcluster/mirror",
		"internal/testcluster/container", "internal/testcluster/sandbox"},
	"picker": {"internal/picker", "internal/picker/cluster", "internal/picker/members",
		"internal/picker/servers",
		"internal/picker/objectives", "internal/picker/rewrite", "internal/picker/score",
		"internal/picker/prefix", "internal/picker/prompt"},
	"ground": {"internal/fielddoc",
		"internal/policykind", "internal/merge", "internal/dialect", "internal/plan", "internal/kinds",
		"internal/input", "extend", "internal/request",
		"internal/resource", "internal/kind", "internal/flow", "internal/model", "api/v1alpha1", "api/agentic/v0alpha0",
		"api/inference/v1", "api/inference/v1alpha2",
		"internal/ledger/ledgertest", "internal/ledger/closure", "internal/ledger",
		"internal/ledger/postgrestest", "internal/certfile", "internal/webserver", "internal/testcert", "internal/bodytest",
		"internal/watches",
		"internal/figures", "examples/calls"},
}

// apart are programs and tools, which nothing imports: they may use what they like.
var apart = []string{"deploy", "examples", "internal/e2e/parts", "extend/schemagen", "hack/", "internal/kinds/generate"}

// declared names the packages that may import a dialect: the list of data planes, and the tests of the whole program.
// Others are passed a dialect.Dialect.
var declared = []string{"internal/dataplanes", "internal/e2e", "internal/e2e/kubernetes"}

// libraries names the packages that may import a library, by the library's path; every other one is free to all.
var libraries = map[string][]string{
	"github.com/envoyproxy/": {"internal/envoystatic", "internal/envoy", "internal/simulate", "internal/slots",
		"internal/xds", "internal/e2e", "internal/picker", "extend"},
	"github.com/google/cel-go":         {"extend"},
	"github.com/modelcontextprotocol/": {"internal/inventory"},
	"github.com/spiffe/":               {"internal/workload", "internal/e2e"},
	"google.golang.org/grpc": {"internal/xds", "internal/workload", "internal/standalone", "internal/server",
		"internal/e2e", "internal/picker"},
	"google.golang.org/protobuf": {"internal/envoystatic", "internal/envoy", "internal/simulate", "internal/slots",
		"internal/xds", "internal/picker", "internal/e2e", "extend"},
	"k8s.io/client-go": {
		"internal/ledger/apply", "internal/ledger/caller", "internal/ledgerserver", "internal/picker/cluster",
		"internal/kube", "internal/certs", "internal/identity", "internal/status", "internal/deploy", "internal/pickers",
		"internal/reconcile", "internal/server",
		"internal/cli",
		"internal/testcluster", "internal/testcluster/kubelet", "internal/testcluster/services",
		"internal/testcluster/mirror",
	},
	"github.com/jackc/":              {"internal/ledger/store", "internal/ledger/postgrestest"},
	"modernc.org/":                   {"internal/ledger/store"},
	"github.com/pressly/":            {"internal/ledger/store"},
	"github.com/danielgtaylor/":      {"internal/ledger/rest"},
	"github.com/getkin/":             {"internal/ledger/rest"},
	"github.com/coreos/go-oidc":      {"internal/ledger/caller"},
	"github.com/vishvananda/":        {"internal/testcluster/container", "internal/testcluster/sandbox"},
	"k8s.io/apiextensions-apiserver": {"internal/schema", "api/v1alpha1", "internal/deploy"},
	"k8s.io/apiserver":               {"internal/schema"},
	"k8s.io/kube-openapi":            {"internal/merge"},
	"sigs.k8s.io/structured-merge-":  {"internal/merge"},
	"github.com/fsnotify/":           {"internal/files", "internal/ledger/store", "internal/picker/members"},
	"github.com/spf13/":              {"cmd/cardea", "internal/cli", "internal/ledgercmd"},
	"github.com/prometheus/": {
		"internal/xds", "internal/proxyfiles", "internal/kube", "internal/certs", "internal/identity", "internal/status",
		"internal/deploy", "internal/admin", "internal/standalone", "internal/assembly", "internal/fetch",
		"internal/ledger/apply", "internal/ledgerserver", "internal/picker", "internal/picker/servers",
	},
	"sigs.k8s.io/gateway-api/": {
		"internal/gateway", "internal/conditions", "internal/input", "internal/kind", "internal/kinds", "internal/files",
		"internal/implied", "internal/ledger/feed",
		"internal/policy",
		"internal/kube", "internal/deploy", "internal/policykind", "internal/e2e", "extend",
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
	if pkg == "internal/model" && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
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

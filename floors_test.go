package cardea

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "cardea.dev/cardea/"

// mayImport says for each tower (the first folder below internal, or a public folder) which others it may import: the
// picture at the top of ARCHITECTURE.md. extend, api and cmd are towers by these names, "" is the root package.
var mayImport = map[string][]string{
	"api":       nil,
	"extend":    {"core"}, // of it only what extendImports lists
	"core":      {"api", "extend"},
	"features":  {"extend"}, // as anybody's feature
	"source":    {"core", "api", "extend"},
	"translate": {"core", "api", "extend"},
	"dataplane": {"core", "api", "extend"},
	"deliver":   {"core", "api", "extend"},
	"epp":       {"core", "api", "extend"},
	"ledger":    {"core", "api", "extend"},
	"app": {"core", "api", "extend", "source", "translate", "dataplane", "deliver", "epp", "ledger", "features",
		"ops"},
	"ops": {"core", "api", "extend", "source", "translate", "dataplane", "deliver", "epp", "ledger", "app"},
	"":    {"extend", "app", "ops"},
	"cmd": {""},
	"test": {"core", "api", "extend", "source", "translate", "dataplane", "deliver", "epp", "ledger", "features", "app",
		"ops", "examples"},
	"extendtest": {"extend", "app", "deliver", "test"},
}

// extendImports are the packages of core that the public tower may import: values without a graph or a catalog.
var extendImports = []string{"internal/core/model", "internal/core/request"}

// floors lists packages of which each may import only those behind it, and others that are not listed.
var floors = [][]string{
	{"internal/core/policycrd", "internal/core/dataplane", "internal/core/plan", "extend/envoy", "extend",
		"internal/core/kinds",
		"internal/core/input", "internal/core/request", "internal/core/resource", "internal/core/kind",
		"internal/core/flow", "internal/core/model"},
	{"internal/dataplane/envoy/files", "internal/dataplane/envoy", "internal/dataplane/envoy/bootstrap",
		"internal/dataplane/envoy/route", "internal/dataplane/envoy/naming", "internal/dataplane/envoy/metrics",
		"internal/dataplane/envoy/redact", "internal/dataplane/envoy/message",
		"internal/dataplane/envoy/simulate", "internal/dataplane/envoy/httpfilters"},
	{"internal/translate/gateway", "internal/translate/shadow", "internal/translate/route", "internal/translate/backend",
		"internal/translate/policy", "internal/translate/budget", "internal/translate/reference",
		"internal/translate/problem", "internal/translate/precedence",
		"internal/translate/conditions", "internal/translate/resolve"},
	{"internal/ops/cli", "internal/ops/ledgercmd", "internal/app/ledgerserver", "internal/app/controller",
		"internal/app/standalone", "internal/app/assembly", "internal/ops/ledgerpreview", "internal/ops/admin",
		"internal/ops/diff", "internal/ops/explain", "internal/app/world"},
}

// apart are programs and tools, which nothing imports: they may use what they like. Some are modules of their own.
var apart = []string{"deploy", "examples", "internal/test/e2e/parts", "internal/test/cluster", "extend/schemagen",
	"hack/", "internal/core/kinds/generate"}

// dataPlaneUsers names the packages that may import a dialect: the list of data planes, and the tests of the whole
// program. Others are passed a dataplane.Dialect.
var dataPlaneUsers = []string{"internal/app/dataplanes", "internal/test/e2e", "internal/test/e2e/kubernetes",
	"internal/test/e2e/live"}

// libraries names the packages that may import a library, by the library's path; every other one is free to all.
var libraries = map[string][]string{
	"github.com/envoyproxy/": {"internal/dataplane/envoy/files", "internal/dataplane/envoy",
		"internal/dataplane/envoy/bootstrap", "internal/dataplane/envoy/route", "internal/dataplane/envoy/metrics",
		"internal/dataplane/envoy/redact", "internal/dataplane/envoy/message",
		"internal/dataplane/envoy/simulate", "internal/dataplane/envoy/httpfilters",
		"internal/deliver/xds", "internal/test/e2e", "internal/epp", "extend/envoy"},
	"github.com/google/cel-go":         {"extend"},
	"github.com/modelcontextprotocol/": {"internal/ops/mcpclient"},
	"github.com/spiffe/":               {"internal/deliver/workload", "internal/test/e2e"},
	"google.golang.org/grpc": {"internal/deliver/xds", "internal/deliver/workload", "internal/app/standalone",
		"internal/app/controller",
		"internal/test/e2e", "internal/epp"},
	"google.golang.org/protobuf": {"internal/dataplane/envoy/files", "internal/dataplane/envoy",
		"internal/dataplane/envoy/bootstrap", "internal/dataplane/envoy/route", "internal/dataplane/envoy/metrics",
		"internal/dataplane/envoy/redact", "internal/dataplane/envoy/message",
		"internal/dataplane/envoy/simulate", "internal/dataplane/envoy/httpfilters",
		"internal/deliver/xds", "internal/epp", "internal/test/e2e", "extend/envoy"},
	"k8s.io/client-go": {
		"internal/core/kubeclient", "internal/core/tokenreview",
		"internal/ledger/apply", "internal/ledger/auth", "internal/app/ledgerserver", "internal/epp/cluster",
		"internal/source/kube", "internal/deliver/certs", "internal/deliver/kube/identity", "internal/deliver/kube/status",
		"internal/deliver/kube/proxies", "internal/deliver/kube/epp",
		"internal/deliver/kube/queue", "internal/app/controller",
		"internal/ops/cli",
		"internal/test/kubetest",
	},
	"github.com/jackc/":              {"internal/ledger/store", "internal/test/postgrestest"},
	"modernc.org/":                   {"internal/ledger/store"},
	"github.com/pressly/":            {"internal/ledger/store"},
	"github.com/danielgtaylor/":      {"internal/ledger/rest"},
	"github.com/getkin/":             {"internal/ledger/rest"},
	"github.com/coreos/go-oidc":      {"internal/ledger/auth"},
	"github.com/vishvananda/":        {},
	"k8s.io/apiextensions-apiserver": {"internal/core/schema", "api/v1alpha1", "internal/deliver/kube/proxies"},
	"k8s.io/apiserver":               {"internal/core/schema"},
	"k8s.io/kube-openapi":            {"internal/translate/policy/merge"},
	"sigs.k8s.io/structured-merge-":  {"internal/translate/policy/merge", "internal/ledger/apply"},
	"github.com/fsnotify/":           {"internal/source/files", "internal/ledger/store", "internal/epp/members"},
	"github.com/spf13/":              {"cmd/cardea", "internal/ops/cli", "internal/ops/ledgercmd"},
	"github.com/prometheus/": {
		"internal/core/tokenreview",
		"internal/deliver/xds", "internal/deliver/filesync", "internal/source/kube", "internal/deliver/certs",
		"internal/deliver/kube/identity", "internal/deliver/kube/status",
		"internal/deliver/kube/proxies", "internal/ops/admin", "internal/app/standalone", "internal/app/assembly",
		"internal/source/fetch",
		"internal/ledger/apply", "internal/app/ledgerserver", "internal/epp", "internal/epp/servers",
	},
	"sigs.k8s.io/gateway-api/": {
		"internal/translate/gateway", "internal/translate/route", "internal/translate/backend",
		"internal/translate/reference", "internal/translate/conditions",
		"internal/core/input", "internal/core/kind",
		"internal/core/kinds", "internal/source/files",
		"internal/source/synthetic", "internal/source/ledgerfeed",
		"internal/translate/policy",
		"internal/source/kube", "internal/deliver/kube/proxies", "internal/core/policycrd", "internal/test/e2e", "extend",
	},
	"sigs.k8s.io/gateway-api/conformance": {},
}

// outside are packages that must not come into the program, by whatever way: what only tests need, and every kind of
// Kubernetes in Go's types (see docs/adr/0059-a-small-program.md).
var outside = []string{"testing", "cardea.dev/cardea/internal/test", "github.com/google/go-cmp",
	"k8s.io/client-go/kubernetes", "k8s.io/client-go/applyconfigurations", "k8s.io/client-go/informers",
	"k8s.io/client-go/discovery"}

func TestProgram(t *testing.T) {
	list, err := exec.Command("go", "list", "-deps", "./cmd/cardea").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.FieldsSeq(string(list)) {
		for _, path := range outside {
			if pkg == path || strings.HasPrefix(pkg, path+"/") {
				t.Errorf("the program has %s: `go mod why -vendor` and `go list -deps` tell which import brings it", pkg)
			}
		}
	}
}

func TestFloors(t *testing.T) {
	found := packages(t)
	for _, list := range floors {
		for _, pkg := range list {
			if _, exists := found[pkg]; !exists {
				t.Errorf("there is no %s: take it out of the list of floors in this file", pkg)
			}
		}
	}
	for pkg, imports := range found {
		if isApart(pkg) {
			continue
		}
		if _, known := mayImport[towerOf(pkg)]; !known {
			t.Errorf("%s stands in no tower: put it into one, or add the tower to the table in this file", pkg)
			continue
		}
		for _, path := range imports {
			own, ok := strings.CutPrefix(path, module)
			if path == strings.TrimSuffix(module, "/") {
				own, ok = "", true
			}
			if !ok {
				checkLibrary(t, pkg, path)
				continue
			}
			checkImport(t, pkg, own)
		}
	}
}

func checkImport(t *testing.T, pkg, imported string) {
	t.Helper()
	tower, under := towerOf(pkg), towerOf(imported)
	if tower != under && !slices.Contains(mayImport[tower], under) || tower == "features" && under == tower {
		t.Errorf("%s must not import %s: %q may import %q only", pkg, imported, tower, mayImport[tower])
	}
	if tower == "extend" && under == "core" && !slices.Contains(extendImports, imported) {
		t.Errorf("%s must not import %s: of core it may import %q only", pkg, imported, extendImports)
	}
	for _, list := range floors {
		if a, b := slices.Index(list, pkg), slices.Index(list, imported); a >= 0 && b >= 0 && a > b {
			t.Errorf("%s must not import %s, which stands above it", pkg, imported)
		}
	}
	if under == "dataplane" && tower != under && !slices.Contains(dataPlaneUsers, pkg) {
		t.Errorf("%s must not import %s: data planes are passed to it as a list of dataplane.Dialect", pkg, imported)
	}
}

// towerOf is the first folder, or the one below internal.
func towerOf(pkg string) string {
	parts := strings.Split(pkg, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[1]
	}
	return parts[0]
}

func checkLibrary(t *testing.T, pkg, path string) {
	t.Helper()
	if pkg == "internal/core/model" && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		t.Errorf("%s imports %s: it may use the standard library only", pkg, path)
	}
	owners, longest := []string(nil), ""
	for prefix, list := range libraries {
		if strings.HasPrefix(path, prefix) && len(prefix) > len(longest) {
			owners, longest = list, prefix
		}
	}
	if longest != "" && !slices.Contains(owners, pkg) && !(towerOf(pkg) == "features" &&
		(slices.Contains(owners, "extend") || slices.Contains(owners, "extend/envoy"))) {
		t.Errorf("%s imports %s, which belongs to %v", pkg, path, owners)
	}
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

// TestArchitecture: ARCHITECTURE.md has a row for each folder below internal, which names the folder's packages.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			rows[strings.Trim(cells[1], " `")] = line
		}
	}
	for pkg := range packages(t) {
		parts := strings.Split(pkg, "/")
		if parts[0] != "internal" || isApart(pkg) || parts[1] == "features" {
			continue
		}
		row, found := rows[parts[1]]
		if !found {
			t.Errorf("ARCHITECTURE.md has no row for internal/%s", parts[1])
			continue
		}
		if len(parts) == 3 && !strings.Contains(row, "`"+parts[2]+"`") {
			t.Errorf("ARCHITECTURE.md: the row of %s does not name `%s`", parts[1], parts[2])
		}
	}
}

package envoy

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/redact"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/deliver/process"
)

var update = flag.Bool("update", false, "rewrite the expected files in testdata")

// TestResources prints what small plans are rendered to. Only the resources that a file names are compared; -update
// rewrites those.
func TestResources(t *testing.T) {
	for name, fill := range map[string]func(*world, *flow.Batch){
		"http": func(w *world, b *flow.Batch) {
			w.addPort(b, 80, 10080, model.HTTP, testListener("http", ""))
			w.addBackend(b, service("web"), model.Endpoint{Address: "10.0.0.1", Port: 8080},
				model.Endpoint{Address: "fd00::1", Port: 8080})
			w.serve(b, 1, 80, "http", "shop.example", forward("rule", prefix("/cart")))
		},
		"https": func(w *world, b *flow.Batch) {
			l := testListener("shop", "*.shop.example")
			l.Certificates = []model.ObjectRef{model.Ref(model.KindSecret, "shop", "cert")}
			w.addPort(b, 443, 443, model.HTTPS, l)
			w.secrets.Set(b, l.Certificates[0],
				model.Secret{Ref: l.Certificates[0], Certificate: []byte("certificate"), PrivateKey: []byte("key")})
		},
		"isolation": func(w *world, b *flow.Batch) {
			one, wild := testListener("one", "a.example"), testListener("wild", "*.example")
			w.addPort(b, 443, 443, model.HTTPS, one, wild)
			w.serve(b, 1, 443, "wild", "b.example", forward("rule", model.Match{}))
		},
		"weights": func(w *world, b *flow.Batch) {
			w.addPort(b, 80, 80, model.HTTP, testListener("http", ""))
			r := forward("rule", model.Match{})
			r.Backends = []model.WeightedBackend{
				{Backend: service("a"), Weight: 90}, {Backend: service("b"), Weight: 9},
				{Backend: service("drained")}, {Backend: service("missing"), Weight: 1, Invalid: true},
			}
			w.serve(b, 1, 80, "http", "shop.example", r)
		},
		"redirect": func(w *world, b *flow.Batch) {
			w.addPort(b, 8080, 8080, model.HTTP, testListener("http", ""))
			w.serve(b, 1, 8080, "http", "shop.example", model.Rule{
				Key: testRuleKey("tls"), Matches: []model.Match{prefix("/tls")},
				Redirect: &model.Redirect{Scheme: "https", StatusCode: 301},
			})
			w.serve(b, 2, 8080, "http", "shop.example", model.Rule{
				Key: testRuleKey("path"), Matches: []model.Match{prefix("/old")},
				Redirect: &model.Redirect{StatusCode: 302, Path: toPrefix("/new")},
			})
		},
		"xbackend": func(w *world, b *flow.Batch) {
			k := model.BackendKey{Object: model.Ref(model.KindXBackend, "shop", "api")}
			w.setBackend(b, model.Backend{Key: k, Hostname: "api.example", HostPort: 8443})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.apply(func(b *flow.Batch) { fill(w, b) })
			compareResources(t, filepath.Join("testdata", name+".txtar"), w.resources())
		})
	}
}

func compareResources(t *testing.T, file string, all map[resource.Key]resource.Resource) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) == 0 {
		t.Fatal("the file names no resource")
	}
	for i, f := range archive.Files {
		got := []byte("none\n")
		for k, r := range all {
			if xdstypes.Name(k.Type)+" "+k.Name != f.Name {
				continue
			}
			text, err := redact.DescribeResource(k.Type, r)
			if err != nil {
				t.Fatal(err)
			}
			got = append(text, '\n')
		}
		if !*update && !bytes.Equal(got, f.Data) {
			t.Errorf("%s is\n%s\nwant\n%s", f.Name, got, f.Data)
		}
		archive.Files[i].Data = got
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBootstrap(t *testing.T) {
	config, err := bootstrap.Render(bootstrap.Config{
		NodeID: "node", NodeCluster: "shop/web", XDSSocket: "/run/xds.sock", AdminSocket: "/run/admin.sock",
		Memory: 1 << 30,
	})
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "bootstrap.json")
	if *update {
		if err := os.WriteFile(golden, append(config, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(config, '\n'), want) {
		t.Errorf("the bootstrap is\n%s", config)
	}
	if other, err := bootstrap.Render(bootstrap.Config{NodeID: "n", XDSSocket: "/x",
		AdminAddress: "127.0.0.1:9901"}); err != nil ||
		!strings.Contains(string(other), `"port_value": 9901`) {
		t.Errorf("an admin address: %v\n%s", err, other)
	}
	for _, bad := range []bootstrap.Config{
		{XDSSocket: "/x", AdminSocket: "/a"},
		{NodeID: "n", AdminSocket: "/a"},
		{NodeID: "n", XDSSocket: "/x"},
		{NodeID: "n", XDSSocket: "/x", AdminAddress: "nowhere"},
		{NodeID: "n", XDSSocket: "/x", AdminAddress: "127.0.0.1:99999"},
	} {
		if _, err := bootstrap.Render(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestEnvoyValidatesTheBootstrap asks the real Envoy, and wants no word about deprecated or unknown fields.
func TestEnvoyValidatesTheBootstrap(t *testing.T) {
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, "--mode", "validate", "-l", "warning", "-c",
		filepath.Join("testdata", "bootstrap.json")).CombinedOutput()
	if err != nil || slices.ContainsFunc([]string{"deprecated", "unknown", "[warning]"}, func(word string) bool {
		return strings.Contains(strings.ToLower(string(out)), word)
	}) {
		t.Errorf("%v: %s", err, out)
	}
}

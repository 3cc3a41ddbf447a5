package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

const shopFile = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: shop}
spec:
  gatewayClassName: cardea
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.x-k8s.io/v1alpha1
kind: XBackend
metadata: {name: web, namespace: shop}
spec: {type: ExternalHostname, externalHostname: {hostname: localhost}, port: {number: 80}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: shop}
spec:
  parentRefs: [{name: web}]
`

// TestMistakesInWhatNamesAnObject: whatever is mistyped in the lines that say what a document is, or where the next one
// begins, takes nothing away; the mistake is an error. When it is mended all is as it was, and what leaves then is
// gone.
func TestMistakesInWhatNamesAnObject(t *testing.T) {
	for mistake, edit := range map[string][3]string{ // in the line that holds the first, the second becomes the third
		"a kind":                        {"kind: Gateway", "Gateway", "Gatway"},
		"the next kind":                 {"kind: HTTPRoute", "HTTPRoute", "HttpRoutes"},
		"no kind":                       {"kind: HTTPRoute", "kind: HTTPRoute", "# none"},
		"a key":                         {"kind: HTTPRoute", "kind:", "kind"},
		"a group":                       {"kind: HTTPRoute", "kind: HTTPRoute", "kind: HTTPRoutee"},
		"the first key":                 {"apiVersion: gateway.networking.k8s.io/v1", "api", "xapi"},
		"a case":                        {"x-k8s.io", "apiVersion", "apiversion"},
		"metadata":                      {"{name: web, namespace: shop}", "metadata", "metdata"},
		"a name":                        {"{name: web, namespace: shop}", "web", "Web"},
		"a name's key":                  {"{name: web, namespace: shop}", "name: web", "nam: web"},
		"a namespace":                   {"{name: web, namespace: shop}", "shop", "Sh_op"},
		"a separator":                   {"---", "---", "--"},
		"a separator that is an item":   {"---", "---", "- --"},
		"a separator that is not there": {"---", "---", "# none"},
	} {
		t.Run(mistake, func(t *testing.T) {
			for skip := range 3 {
				broken, found := nth(shopFile, edit, skip)
				if !found {
					continue
				}
				s := newStill(t)
				s.read("shop.yaml", shopFile)
				s.look(lookRequest{all: true})
				serves := func(when string, want int64) {
					t.Helper()
					for _, kind := range []model.Kind{model.KindGateway, model.KindXBackend, model.KindHTTPRoute} {
						if g := s.generation(kind, "web"); g != want {
							t.Errorf("%s: %s has generation %d, want %d\n%v", when, kind, g, want, s.folder.Problems())
						}
					}
				}
				s.read("shop.yaml", broken)
				errors := 0
				for _, p := range s.folder.Problems() {
					if p.Severity == model.Error {
						errors++
					}
				}
				if errors == 0 {
					t.Errorf("no error is told of\n%s\n%v", broken, s.folder.Problems())
				}
				for range 2 {
					s.later()
				}
				serves("with the mistake", 1)
				s.read("shop.yaml", broken+"# another edit\n")
				s.later()
				serves("with the mistake, edited again", 1)
				s.read("shop.yaml", shopFile)
				serves("mended", 1)
				if p := s.folder.Problems(); len(p) > 0 {
					t.Error(p)
				}
				s.read("shop.yaml", service("other"))
				s.later()
				serves("taken away", 0)
			}
		})
	}
}

// nth makes an edit in the line that is found after so many others.
func nth(text string, edit [3]string, skip int) (edited string, found bool) {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if !strings.Contains(line, edit[0]) {
			continue
		}
		if skip == 0 {
			lines[i] = strings.Replace(line, edit[1], edit[2], 1)
			return strings.Join(lines, ""), true
		}
		skip--
	}
	return "", false
}

// TestWhatIsKeptYields: what a file declared before a mistake is another file's as soon as that declares it.
func TestWhatIsKeptYields(t *testing.T) {
	s := newStill(t)
	s.write("a.yaml", service("a")+service("b"))
	s.look(lookRequest{all: true})
	s.read("a.yaml", service("a")+strings.Replace(service("b"), "Service", "Servce", 1))
	s.read("z.yaml", strings.Replace(service("b"), "8080", "9090", 1))
	if g := s.generation(model.KindService, "b"); g != 2 {
		t.Errorf("generation %d, want that of the other file", g)
	}
	for _, p := range s.folder.Problems() {
		if strings.Contains(p.Message, "declared") {
			t.Error(p)
		}
	}
	s.now = s.now.Add(2 * Hold)
	s.must(os.Remove(filepath.Join(s.dir, "z.yaml")))
	s.look(lookRequest{all: true})
	s.later()
	if g := s.generation(model.KindService, "a"); g != 1 {
		t.Errorf("the one beside the mistake has generation %d", g)
	}
}

// TestANameOfAnother: a document whose name became that of another one of its file hides whose it was.
func TestANameOfAnother(t *testing.T) {
	s := newStill(t)
	s.read("a.yaml", service("a")+service("b"))
	s.read("a.yaml", service("a")+service("a"))
	s.later()
	if g := s.generation(model.KindService, "b"); g != 1 {
		t.Errorf("what the file declared before has generation %d\n%v", g, s.folder.Problems())
	}
	s.read("a.yaml", service("a"))
	s.later()
	if g := s.generation(model.KindService, "b"); g != 0 {
		t.Errorf("taken away, it has generation %d", g)
	}
}

// TestMovedToABrokenDocument: an object that another file declares, too, but with a mistake, keeps its last good
// version when the good one goes.
func TestMovedToABrokenDocument(t *testing.T) {
	for mistake, broken := range map[string]string{
		"a field": strings.Replace(service("b"), "port:", "prt:", 1),
		"a tab":   strings.Replace(service("b"), "spec:", "\tspec:", 1),
	} {
		for _, to := range []string{"0.yaml", "z.yaml"} {
			t.Run(mistake+" in "+to, func(t *testing.T) {
				s := newStill(t)
				s.read("a.yaml", service("a")+service("b"))
				s.read(to, broken)
				s.read("a.yaml", service("a"))
				s.later()
				if g := s.generation(model.KindService, "b"); g != 1 {
					t.Errorf("generation %d, want the last good version", g)
				}
				if p := s.folder.Problems(); len(p) != 1 || !p[0].Stale {
					t.Errorf("%v, want one problem, and that the last good version keeps serving", p)
				}
				s.must(os.Remove(filepath.Join(s.dir, to)))
				s.look(lookRequest{all: true})
				s.later()
				if g := s.generation(model.KindService, "b"); g != 0 {
					t.Errorf("taken away, it has generation %d", g)
				}
			})
		}
	}
}

// TestAListWithAMistake: a List whose kind or items are mistyped keeps what it held.
func TestAListWithAMistake(t *testing.T) {
	list := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Service, metadata: {name: a, namespace: " +
		"shop}, spec: {ports: [{port: 80}]}}\n"
	for from, to := range map[string]string{
		"List": "Lst", "items": "itms", "kind:": "knd:", "items:\n": "items: {}\n#", "apiVersion: v1\nkind: List": "",
	} {
		s := newStill(t)
		s.read("a.yaml", list)
		s.read("a.yaml", strings.Replace(list, from, to, 1))
		s.later()
		errors := slices.ContainsFunc(s.folder.Problems(), func(p Problem) bool { return p.Severity == model.Error })
		if g := s.generation(model.KindService, "a"); g != 1 || !errors {
			t.Errorf("%q for %q: generation %d, %v", to, from, g, s.folder.Problems())
		}
	}
}

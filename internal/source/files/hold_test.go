package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lifecycle"
)

func service(name string) string {
	return fmt.Sprintf(
		"---\napiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\nspec: {ports: [{port: 8080}]}\n", name,
	)
}

func slice(service string) string {
	return fmt.Sprintf("---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\n"+
		"metadata: {name: %[1]s-1, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}\n"+
		"addressType: IPv4\nports: [{port: 8080}]\nendpoints: [{addresses: [127.0.0.1]}]\n", service)
}

func selecting(xbackend string) string {
	return fmt.Sprintf("---\napiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: %s, "+
		"namespace: shop}\n"+
		"spec: {type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {app: b}}}\n", xbackend)
}

func gateway(listener, secret string) string {
	return fmt.Sprintf("---\napiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: gw, namespace: "+
		"shop}\nspec:\n"+
		"  gatewayClassName: cardea\n  listeners: [{name: %s, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: "+
		"%s}]}}]\n", listener, secret)
}

func secret(name string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: shop}\n", name)
}

// read looks at files as a notification would.
func (s *still) read(name, text string) {
	s.t.Helper()
	s.write(name, text)
	s.look(lookRequest{paths: map[string]struct{}{name: {}}})
}

// generation is an object's, 0 if it is not there.
func (s *still) generation(kind model.Kind, name string) (generation int64) {
	s.folder.mu.Lock()
	defer s.folder.mu.Unlock()
	if live, known := s.folder.objects.PublishedVersion(model.Ref(kind, "shop", name)); known {
		generation = live.generation
	}
	return generation
}

// A version waits until all that it begins to name is there, each in a file of its own.
func TestWaitsForWhatItNames(t *testing.T) {
	web := func(rule string) string {
		return "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: o, namespace: shop}\n" +
			"spec: {parentRefs: [{name: gw, sectionName: a}], rules: [" + rule + "]}\n"
	}
	for name, story := range map[string]struct {
		kind   model.Kind
		object string
		old    string
		new    string
		come   []string // the last one ends the wait
	}{
		"a Service and its slice": {model.KindHTTPRoute, "o", web("{backendRefs: [{name: a, port: 8080}]}"),
			web("{backendRefs: [{name: b, port: 8080}]}"),
			[]string{service("b"), slice("b")}},
		"a slice and its Service": {model.KindHTTPRoute, "o", web("{backendRefs: [{name: a, port: 8080}]}"),
			web("{backendRefs: [{name: b, port: 8080}]}"),
			[]string{slice("b"), service("b")}},
		"two Services": {model.KindHTTPRoute, "o", web("{backendRefs: [{name: a, port: 8080}]}"),
			web("{backendRefs: [{name: b, port: 8080}]}, {backendRefs: [{name: c, port: 8080}]}"),
			[]string{service("b") + slice("b"), service("c") + slice("c")}},
		"a port": {model.KindHTTPRoute, "o", web("{backendRefs: [{name: a, port: 8080}]}"),
			web("{backendRefs: [{name: a, port: 9090}]}"),
			[]string{service("other"), strings.Replace(service("a"), "[{port: 8080}]",
				"[{name: one, port: 8080}, {name: two, port: 9090}]", 1)}},
		"a mirror": {model.KindHTTPRoute, "o", web("{backendRefs: [{name: a, port: 8080}]}"),
			web(
				"{filters: [{type: RequestMirror, requestMirror: {backendRef: {name: b, port: 8080}}}], backendRefs: [{name: a, " +
					"port: 8080}]}",
			),
			[]string{slice("b"), service("b")}},
		"an XBackend": {model.KindHTTPRoute, "o", web("{backendRefs: [{name: a, port: 8080}]}"),
			web("{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: b}]}"),
			[]string{service("b"),
				"apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackend\nmetadata: {name: b, namespace: shop}\n" +
					"spec: {type: ExternalHostname, port: {number: 80}, externalHostname: {hostname: b.example}}\n"}},
		"an XBackend and its slice": {model.KindHTTPRoute, "o", web("{backendRefs: [{name: a, port: 8080}]}"),
			web("{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: b}]}"),
			[]string{selecting("b"), strings.Replace(slice("b"), "kubernetes.io/service-name", "cardea.dev/xbackend", 1)}},
		"a slice and its XBackend": {model.KindHTTPRoute, "o", web("{backendRefs: [{name: a, port: 8080}]}"),
			web("{backendRefs: [{group: gateway.networking.x-k8s.io, kind: XBackend, name: b}]}"),
			[]string{strings.Replace(slice("b"), "kubernetes.io/service-name", "cardea.dev/xbackend", 1), selecting("b")}},
		"a listener": {model.KindHTTPRoute, "o", web("{}"), strings.Replace(web("{}"), "sectionName: a", "sectionName: b", 1),
			[]string{gateway("a", "new"), gateway("b", "s")}},
		"a Secret": {model.KindGateway, "gw", gateway("a", "s"), gateway("a", "new"),
			[]string{secret("other"), secret("new")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStill(t)
			if story.kind != model.KindGateway {
				s.write("gateway.yaml", gateway("a", "s"))
			}
			s.write("a.yaml", service("a")+slice("a")+secret("s"))
			s.write("object.yaml", story.old)
			s.look(lookRequest{all: true})
			if p := s.folder.Problems(); len(p) > 0 {
				t.Fatal(p)
			}
			s.read("object.yaml", story.new)
			for i, text := range story.come {
				if g := s.generation(story.kind, story.object); g != 1 {
					t.Fatalf("generation %d before the last of what it names is there (%d are)", g, i)
				}
				name := fmt.Sprintf("%d.yaml", i)
				if strings.Contains(text, "name: a,") {
					name = "a.yaml"
					text += slice("a") + secret("s")
				}
				if strings.Contains(text, "kind: Gateway\n") {
					name = "gateway.yaml"
				}
				s.read(name, text)
			}
			if g := s.generation(story.kind, story.object); g != 2 {
				t.Errorf("generation %d when all that it names is there; problems: %v", g, s.folder.Problems())
			}
		})
	}
}

// What never comes is not waited for longer than Hold, however often the waiting version is edited.
func TestWaitsNotForEver(t *testing.T) {
	s := newStill(t)
	s.write("web.yaml", route("web", "a")+service("a")+slice("a"))
	s.look(lookRequest{all: true})
	s.read("web.yaml", route("web", "b")+service("a")+slice("a"))
	s.now = s.now.Add(Hold / 2)
	s.read("web.yaml", route("web", "c")+service("a")+slice("a"))
	if s.backend("web") != "a" {
		t.Error("a route took effect before the Service that it names could come")
	}
	s.now = s.now.Add(Hold / 2)
	s.look(lookRequest{})
	if held := s.folder.objects.Count(lifecycle.Held); s.backend("web") != "c" || held > 0 {
		t.Errorf("after Hold the backend is %q; %d wait", s.backend("web"), held)
	}
}

// A file that is being written when Hold ends may bring what is waited for. One that is written for ever holds nobody
// up.
func TestWaitsForAFileThatIsBeingWritten(t *testing.T) {
	for _, story := range []struct {
		name           string
		edit           func(s *still) // makes something wait
		text           string         // of the file that ends it
		before, within string
		never          string // what serves if that file is never whole
	}{
		{"a Service to come", func(s *still) { s.read("web.yaml", route("web", "b")) }, service("b") + slice("b"), "a", "b",
			"b"},
		{"a route that moves", func(s *still) {
			s.must(os.Remove(filepath.Join(s.dir, "web.yaml")))
			s.look(lookRequest{paths: map[string]struct{}{"web.yaml": {}}})
		}, route("web", "c") + service("c") + slice("c"), "a", "c", ""},
	} {
		for _, whole := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, whole %v", story.name, whole), func(t *testing.T) {
				s := newStill(t)
				s.write("web.yaml", route("web", "a"))
				s.write("a.yaml", service("a")+slice("a"))
				s.look(lookRequest{all: true})
				story.edit(s)
				path := filepath.Join(s.dir, "new.yaml")
				writer, err := os.Create(path)
				s.must(err)
				defer writer.Close()
				_, err = writer.WriteString(story.text)
				s.must(err)
				s.now = s.now.Add(Hold)
				s.must(os.Chtimes(path, s.now, s.now))
				s.look(lookRequest{})
				s.look(lookRequest{all: true})
				if got := s.backend("web"); got != story.before {
					t.Fatalf("while the file is written, the backend is %q", got)
				}
				want := story.within
				if whole {
					s.must(writer.Close())
				} else {
					want = story.never
					s.now = s.now.Add(writerTimeout)
					s.must(os.Chtimes(path, s.now, s.now))
				}
				s.look(lookRequest{})
				s.look(lookRequest{})
				if got := s.backend("web"); got != want {
					t.Errorf("at the end the backend is %q, want %q", got, want)
				}
			})
		}
	}
}

// What gains nothing from waiting does not wait.
func TestDoesNotWait(t *testing.T) {
	s := newStill(t)
	s.write("web.yaml", route("web", "missing"))
	s.write("a.yaml", service("a")+slice("a"))
	s.look(lookRequest{all: true})
	s.read("new.yaml", route("new", "b"))
	if s.backend("new") != "b" {
		t.Error("a new route waits, and nothing serves in its stead")
	}
	s.read("web.yaml", strings.Replace(route("web", "missing"), "web.example.com", "other.example.com", 1))
	if s.generation(model.KindHTTPRoute, "web") != 2 {
		t.Error("a route waits for what it named before")
	}
	s.read("web.yaml", route("web", "a"))
	if s.backend("web") != "a" {
		t.Error("a route waits for what is there")
	}
	s.read("web.yaml", route("web", "c")+service("c")+slice("c"))
	if s.backend("web") != "c" {
		t.Error("a route waits for what its own file brings")
	}
	// It needs a ReferenceGrant, which is no matter of files.
	s.read("web.yaml", strings.Replace(route("web", "d"), "name: d", "name: d, namespace: other", 1)+
		strings.ReplaceAll(service("d")+slice("d"), "namespace: shop", "namespace: other"))
	if s.backend("web") != "d" {
		t.Error("a route waits for a permission")
	}
}

// A version that waits goes with its text, and one that is taken back leaves nothing behind.
func TestWaitEndsWithItsText(t *testing.T) {
	s := newStill(t)
	s.write("a.yaml", service("a")+slice("a"))
	s.write("web.yaml", route("web", "a"))
	s.look(lookRequest{all: true})
	s.read("web.yaml", route("web", "b"))
	s.read("web.yaml", route("web", "a"))
	if s.folder.objects.Count(lifecycle.Held) > 0 || s.generation(model.KindHTTPRoute, "web") != 1 {
		t.Error("an edit that was taken back still waits")
	}
	s.read("web.yaml", route("web", "b"))
	s.must(os.Remove(filepath.Join(s.dir, "web.yaml")))
	s.look(lookRequest{paths: map[string]struct{}{"web.yaml": {}}})
	if s.backend("web") != "a" || s.folder.objects.Count(lifecycle.Held) > 0 {
		t.Error("a route that lost its text does not stay as it was")
	}
	s.now = s.now.Add(2 * Hold)
	s.look(lookRequest{})
	if s.backend("web") != "" {
		t.Error("a route without text stayed")
	}
}

// A folder that was never there has not been loaded.
func TestLoaded(t *testing.T) {
	s := newStill(t)
	s.look(lookRequest{all: true})
	if s.folder.HasLoaded() {
		t.Error("a folder that does not exist was loaded")
	}
	s.write("web.yaml", route("web", "a"))
	s.look(lookRequest{all: true})
	if !s.folder.HasLoaded() || s.backend("web") != "a" {
		t.Error("the folder is there and not loaded")
	}
	s.must(os.RemoveAll(s.dir))
	s.look(lookRequest{all: true})
	if !s.folder.HasLoaded() {
		t.Error("a folder that went away was never loaded")
	}
}

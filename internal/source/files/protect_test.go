package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// overTLS is a BackendTLSPolicy for a Service.
func overTLS(name, service string) string {
	return fmt.Sprintf("---\napiVersion: gateway.networking.k8s.io/v1\nkind: BackendTLSPolicy\n"+
		"metadata: {name: %s, namespace: shop}\nspec:\n  targetRefs: [{group: \"\", kind: Service, name: %s}]\n"+
		"  validation: {hostname: a.example, wellKnownCACertificates: System}\n", name, service)
}

// What protects and can't be read closes its targets, unless they are protected: by the last good version, by what the
// file declared before, or by another document of the same name.
func TestProtections(t *testing.T) {
	good := overTLS("a", "web")
	type edit struct{ file, text string }
	mistake := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatal(from)
		}
		return strings.Replace(good, from, to, 1)
	}
	field := mistake("hostname", "hostnam")
	const refs = "targetRefs: [{group: \"\", kind: Service, name: web}]"
	head, _, _ := strings.Cut(good, "  targetRefs")
	moved := func(targets string) string {
		return head + "  validation:\n    hostname: a.example\n    wellKnownCACertificates: System\n" + targets + "\n"
	}
	more := "  targetRefs: [{group: \"\", kind: Service, name: api}]\n"
	lost := mistake("BackendTLSPolicy", "BackendTLSPolcy")
	list := func(object string) string {
		return "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(object[4:]), "\n", "\n  ")
	}
	mistyped := func(from, to string) string {
		if !strings.Contains(list(good), from) {
			t.Fatal(from)
		}
		return strings.Replace(list(good), from, to, 1)
	}
	owned := strings.Replace(route("w", "one"), "metadata:\n", "metadata:\n  ownerReferences: [{apiVersion: "+
		"gateway.networking.k8s.io/v1, kind: BackendTLSPolicy, name: a, uidd: b}]\n", 1)
	indented := "policy:\n  " + strings.ReplaceAll(good[4:], "\n", "\n  ")
	for what, c := range map[string]struct {
		edits []edit
		want  string
	}{
		"valid":                   {[]edit{{"a.yaml", good}}, ""},
		"a field":                 {[]edit{{"a.yaml", field}}, "web"},
		"a type":                  {[]edit{{"a.yaml", mistake("{hostname", "[{hostname") + "]"}}, "web"},
		"a kind":                  {[]edit{{"a.yaml", mistake("BackendTLSPolicy", "BackendTLSPolcy")}}, "web"},
		"no kind":                 {[]edit{{"a.yaml", mistake("kind: Back", "# kind: Back")}}, "web"},
		"a group":                 {[]edit{{"a.yaml", mistake("gateway.networking.k8s.io/v1", "cardea.dev/v1")}}, "web"},
		"a name":                  {[]edit{{"a.yaml", mistake("name: a", "name: A_")}}, "web"},
		"no YAML":                 {[]edit{{"a.yaml", mistake("hostname:", "hostname")}}, "web"},
		"a quote":                 {[]edit{{"a.yaml", mistake("a.example", "\"a.example")}}, "web"},
		"a key twice":             {[]edit{{"a.yaml", good + "  validation: {}\n"}}, "web"},
		"two lists of targets":    {[]edit{{"a.yaml", good + more}}, "api web"},
		"two specs":               {[]edit{{"a.yaml", good + "spec:\n" + more}}, "api web"},
		"targets beside the spec": {[]edit{{"a.yaml", moved(refs)}}, "web"},
		"targets below a field":   {[]edit{{"a.yaml", moved("    " + refs)}}, "web"},
		"below a field, no YAML":  {[]edit{{"a.yaml", moved("    "+refs) + "}"}}, "web"},
		"a lost separator":        {[]edit{{"a.yaml", good + overTLS("b", "api")[4:]}}, "api web"},
		"the list's name":         {[]edit{{"a.yaml", mistake("targetRefs", "targetRef")}}, "web"},
		"a list of objects":       {[]edit{{"a.yaml", list(field)}}, "web"},
		"a list that is no YAML":  {[]edit{{"a.yaml", list(good) + "\n- }\n"}}, "web"},
		"a list's items":          {[]edit{{"a.yaml", mistyped("items:", "item:")}}, "web"},
		"a list's kind":           {[]edit{{"a.yaml", mistyped("kind: List", "kind: Lst")}}, "web"},
		"a list in small letters": {[]edit{{"a.yaml", mistyped("kind: List", "kind: list")}}, "web"},
		"a list without a kind":   {[]edit{{"a.yaml", mistyped("kind: List\n", "")}}, "web"},
		"only items":              {[]edit{{"a.yaml", mistyped("apiVersion: v1\nkind: List\n", "")}}, "web"},
		"items that are a map":    {[]edit{{"a.yaml", mistyped("\n- ", "\n  ")}}, "web"},
		"a list in a list":        {[]edit{{"a.yaml", list("---\n" + list(good))}}, "web"},
		"a list of another kind":  {[]edit{{"a.yaml", mistyped("kind: List", "kind: Bundle")}}, "web"},
		"a list of its kind": {[]edit{{"a.yaml", strings.NewReplacer("items:", "item:", "kind: List",
			"kind: BackendTLSPolicyList").Replace(list(good))}}, "web"},
		"items, no YAML":           {[]edit{{"a.yaml", mistyped("items:", "item:") + "\n- }\n"}}, "web"},
		"items of no kind":         {[]edit{{"a.yaml", mistyped("items:", "item:") + "\n- {kind: Foo}\n"}}, "web"},
		"below another key":        {[]edit{{"a.yaml", indented}}, "web"},
		"in a route":               {[]edit{{"a.yaml", route("w", "one") + indented}}, "web"},
		"a list mended":            {[]edit{{"a.yaml", mistyped("items:", "item:")}, {"a.yaml", list(good)}}, ""},
		"a list's good version":    {[]edit{{"a.yaml", list(good)}, {"a.yaml", mistyped("items:", "item:")}}, ""},
		"a list of references":     {[]edit{{"a.yaml", owned}}, ""},
		"mended":                   {[]edit{{"a.yaml", field}, {"a.yaml", good}}, ""},
		"gone":                     {[]edit{{"a.yaml", field}, {"a.yaml", route("web", "one")}}, ""},
		"its last good version":    {[]edit{{"a.yaml", good}, {"a.yaml", field}}, ""},
		"the same, no YAML":        {[]edit{{"a.yaml", good}, {"a.yaml", mistake("hostname:", "hostname")}}, ""},
		"the same, another kind":   {[]edit{{"a.yaml", good}, {"a.yaml", lost}}, ""},
		"the same, without a kind": {[]edit{{"a.yaml", good}, {"a.yaml", mistake("kind: Back", "# kind: Back")}}, ""},
		"in another file":          {[]edit{{"a.yaml", good}, {"b.yaml", field}}, ""},
		"another one's name":       {[]edit{{"a.yaml", good}, {"b.yaml", overTLS("a", "api")}}, "api"},
		"the same twice":           {[]edit{{"a.yaml", good}, {"b.yaml", good}}, ""},
		"a route":                  {[]edit{{"a.yaml", strings.Replace(route("web", "one"), "hostnames", "hosts", 1)}}, ""},
		"a route that is no YAML":  {[]edit{{"a.yaml", route("web", "one") + "}"}}, ""},
		"no object":                {[]edit{{"a.yaml", "a text"}}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			s := newStill(t)
			s.write("z.yaml", service("web"))
			s.look(lookRequest{all: true})
			for _, e := range c.edits {
				s.read(e.file, e.text)
				s.later()
			}
			var got []string
			s.graph.View(func(v flow.View) {
				for key, closed := range flow.All(v, s.sources.Closed.Collection()) {
					if key.Kind() != model.KindBackendTLSPolicy || key.Namespace() != "shop" {
						t.Errorf("closed by %s", key)
					}
					for _, target := range closed.Targets {
						got = append(got, target.Name)
					}
				}
			})
			slices.Sort(got)
			if strings.Join(got, " ") != c.want {
				t.Errorf("closed are %q, want %q\n%v", got, c.want, s.folder.Problems())
			}
			says := slices.ContainsFunc(s.folder.Problems(), func(p Problem) bool { return p.Closes })
			if says != (c.want != "") {
				t.Errorf("it is told: %v, want %q\n%v", says, c.want, s.folder.Problems())
			}
		})
	}
}

// What has the name of a file and is none, or leads nowhere, may protect anything. Once it was read, it closes nothing,
// and what was read serves.
func TestWhatIsNoFileCloses(t *testing.T) {
	for what, c := range map[string]struct {
		place  func(s *still, path string) error
		closes bool
	}{
		"a link to nothing": {func(s *still, path string) error { return os.Symlink("/nonexistent/a.yaml", path) }, true},
		"a link to no folder": {func(s *still, path string) error {
			return os.Symlink("/nonexistent", strings.TrimSuffix(path, ".yaml"))
		}, true},
		"a pipe":              {func(s *still, path string) error { return syscall.Mkfifo(path, 0o600) }, true},
		"a folder":            {func(s *still, path string) error { return os.Mkdir(path, 0o700) }, false},
		"a pipe of a program": {func(s *still, path string) error { return syscall.Mkfifo(path+".fifo", 0o600) }, false},
		"a hidden link": {func(s *still, _ string) error {
			return os.Symlink("alice@host", filepath.Join(s.dir, ".#a"))
		}, false},
		"a link to what is no": {func(s *still, path string) error { return os.Symlink("/dev/null", path+".txt") }, false},
	} {
		t.Run(what, func(t *testing.T) {
			s := newStill(t)
			path := filepath.Join(s.dir, "a.yaml")
			s.write("z.yaml", service("web"))
			s.must(c.place(s, path))
			s.look(lookRequest{all: true})
			if got := s.folder.neverListed; (len(got) > 0) != c.closes {
				t.Errorf("%v close: %v", got, s.folder.Problems())
			}
		})
		t.Run(what+" later", func(t *testing.T) {
			if !c.closes {
				t.Skip("it is no file, then and later")
			}
			s := newStill(t)
			s.write("z.yaml", service("web"))
			s.write("a.yaml", route("web", "one"))
			s.look(lookRequest{all: true})
			s.must(os.Remove(filepath.Join(s.dir, "a.yaml")))
			s.must(c.place(s, filepath.Join(s.dir, "a.yaml")))
			s.look(lookRequest{all: true, paths: map[string]struct{}{"a.yaml": {}}})
			if len(s.folder.neverListed) > 0 {
				t.Errorf("closed although it was read: %v", s.folder.Problems())
			}
			if _, err := os.Lstat(filepath.Join(s.dir, "a.yaml")); err == nil && s.backend("web") != "one" {
				t.Errorf("what was read does not serve: %v", s.folder.Problems())
			}
		})
	}
}

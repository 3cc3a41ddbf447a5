package files

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/lifecycle"
)

func TestFollowsEveryWayOfWriting(t *testing.T) {
	r := newRig(t, t.TempDir(), "")
	r.write("web.yaml", route("web", "one"))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })

	r.write("web.yaml", route("web", "two"))
	r.until("a write in place", func() bool { return r.backend("web") == "two" })

	// As vim and others save: a new file takes the place of the old one.
	r.write(".web.yaml.swp", route("web", "three"))
	r.must(os.Rename(filepath.Join(r.dir, ".web.yaml.swp"), filepath.Join(r.dir, "web.yaml")))
	r.until("an atomic save", func() bool { return r.backend("web") == "three" })

	r.write("sub/deep/api.yml", route("api", "one"))
	r.until("a file in a new folder", func() bool { return r.backend("api") == "one" })
	r.write("sub/deep/api.yml", route("api", "two"))
	r.until("a write in a new folder", func() bool { return r.backend("api") == "two" })

	r.must(os.Rename(filepath.Join(r.dir, "sub"), filepath.Join(r.dir, "moved")))
	r.until("a renamed folder", func() bool {
		path := r.folder.NewLocator().PositionOf(model.Ref(model.KindHTTPRoute, "shop", "api"), "").File
		return path == "moved/deep/api.yml"
	})
	if r.backend("api") != "two" {
		t.Error("the route was lost when its folder was renamed")
	}

	r.must(os.Rename(filepath.Join(r.dir, "web.yaml"), filepath.Join(r.dir, "web.yaml.off")))
	r.until("a rename away", func() bool { return r.backend("web") == "" })
	r.must(os.RemoveAll(filepath.Join(r.dir, "moved")))
	r.until("a deleted folder", func() bool { return r.backend("api") == "" })
}

// A mounted ConfigMap changes by one rename of the link ..data.
func TestFollowsConfigMapSwap(t *testing.T) {
	r := newRig(t, t.TempDir(), "")
	r.write("..one/web.yaml", route("web", "one"))
	r.must(os.Symlink("..one", filepath.Join(r.dir, "..data")))
	r.must(os.Symlink("..data/web.yaml", filepath.Join(r.dir, "web.yaml")))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })
	if problems := r.folder.Problems(); len(problems) > 0 {
		t.Fatal("the files behind the links were read, too:", problems)
	}
	for i, version := range []string{"two", "three"} {
		r.write(".."+version+"/web.yaml", route("web", version))
		r.must(os.Symlink(".."+version, filepath.Join(r.dir, "..data_tmp")))
		r.must(os.Rename(filepath.Join(r.dir, "..data_tmp"), filepath.Join(r.dir, "..data")))
		r.until("a swap", func() bool { return r.backend("web") == version })
		if i == 0 {
			r.must(os.RemoveAll(filepath.Join(r.dir, "..one")))
		}
	}
}

// A link to a file elsewhere is followed where it points.
func TestFollowsLinkTarget(t *testing.T) {
	r := newRig(t, t.TempDir(), "")
	elsewhere := filepath.Join(t.TempDir(), "target.yaml")
	r.must(os.WriteFile(elsewhere, []byte(route("web", "one")), 0o644))
	r.must(os.Symlink(elsewhere, filepath.Join(r.dir, "web.yaml")))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })
	r.must(os.WriteFile(elsewhere, []byte(route("web", "two")), 0o644))
	r.until("a write of the target", func() bool { return r.backend("web") == "two" })
}

// Whoever writes a file writes all that are links to it, whether or not it stands in the folder itself.
func TestFollowsEveryLinkToOneFile(t *testing.T) {
	for name, inside := range map[string]bool{"inside": true, "elsewhere": false} {
		t.Run(name, func(t *testing.T) {
			s := newStill(t)
			s.write("a/real.yaml", route("web", "one"))
			target, want := filepath.Join(s.dir, "a", "real.yaml"), []string{"a/real.yaml", "b.yaml", "c.yaml"}
			if !inside {
				target, want = filepath.Join(t.TempDir(), "real.yaml"), want[1:]
			}
			s.must(os.WriteFile(target, []byte(route("web", "one")), 0o644))
			s.must(os.Symlink(target, filepath.Join(s.dir, "b.yaml")))
			s.must(os.Symlink(target, filepath.Join(s.dir, "c.yaml")))
			s.look(lookRequest{all: true})
			w, next := &watch{Folder: s.folder}, lookRequest{paths: map[string]struct{}{}}
			w.handleEvent(fsnotify.Event{Name: target, Op: fsnotify.Write}, &next)
			if got := sortedPaths(next.paths); !slices.Equal(got, want) {
				t.Errorf("a write makes it look at %v, expected %v", got, want)
			}
		})
	}
}

// One document of many costs one document's work, and a broken one keeps its last good version.
func TestOneOfTenThousand(t *testing.T) {
	const n = 10000
	docs := make([]string, n)
	for i := range docs {
		docs[i] = fmt.Sprintf(
			"---\napiVersion: v1\nkind: Service\nmetadata: {name: s-%d, namespace: shop}\nspec: {ports: [{port: 80}]}\n", i,
		)
	}
	docs[5000] = route("web", "one")
	r := newRig(t, t.TempDir(), "")
	r.write("all.yaml", strings.Join(docs, ""))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })
	at := func() int {
		line := r.folder.NewLocator().PositionOf(model.Ref(model.KindService, "shop", "s-9999"), "").Line
		return line
	}
	before, line := r.folder.Stats(), at()

	docs[5000] = "# a comment moves what follows\n" + route("web", "two")
	r.write("all.yaml", strings.Join(docs, ""))
	r.until("the edit", func() bool { return r.backend("web") == "two" })
	got := r.folder.Stats()
	// The comment belongs to the document before it.
	if parsed, published := got.Parsed-before.Parsed, got.Published-before.Published; parsed != 2 || published != 1 {
		t.Errorf("one edit parsed %d documents and published %d objects", parsed, published)
	}
	if at() != line+1 {
		t.Errorf("the last document stands at line %d, expected %d", at(), line+1)
	}

	docs[5000] = strings.Replace(route("web", "three"), "rules:", "rules: [", 1)
	r.write("all.yaml", strings.Join(docs, ""))
	r.until("the problem", func() bool { return len(r.folder.Problems()) == 1 })
	if p := r.folder.Problems()[0]; !p.Stale || p.Object != "HTTPRoute shop/web" || r.backend("web") != "two" {
		t.Errorf("the broken route: %v, backend %s", p, r.backend("web"))
	}
	docs[5000] = route("web", "four")
	r.write("all.yaml", strings.Join(docs, ""))
	r.until("the repair", func() bool { return r.backend("web") == "four" && len(r.folder.Problems()) == 0 })
	if len(r.told) != 1 {
		t.Errorf("told %v", r.told)
	}
}

func TestVanishedFolderKeepsServing(t *testing.T) {
	parent := t.TempDir()
	r := newRig(t, filepath.Join(parent, "conf"), "")
	r.write("web.yaml", route("web", "one"))
	r.write("api.yaml", route("api", "one"))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })
	r.must(os.Rename(r.dir, filepath.Join(parent, "away")))
	r.until("the problem", func() bool {
		p := r.folder.Problems()
		return len(p) == 1 && strings.Contains(p[0].Message, "does not exist")
	})
	if r.backend("web") != "one" {
		t.Error("a vanished folder took its routes along")
	}
	r.write("web.yaml", route("web", "two"))
	r.until("the folder's return", func() bool {
		return r.backend("web") == "two" && r.backend("api") == "" && len(r.folder.Problems()) == 0
	})
}

// still is a rig that looks when it is told to, at a time that stands still.
type still struct {
	*rig
	now time.Time
}

func newStill(t *testing.T) *still {
	s := &still{rig: newRig(t, filepath.Join(t.TempDir(), "conf"), ""), now: time.Now()}
	s.folder.now = func() time.Time { return s.now }
	return s
}

func (s *still) look(l lookRequest) {
	s.folder.refresh(l)
	s.graph.Settle()
}

// later looks at everything when nothing is held any more.
func (s *still) later() {
	s.now = s.now.Add(2 * Hold)
	s.look(lookRequest{all: true})
}

// A folder that is deleted takes its files along first; that is no deletion of files.
func TestDeletedFolderKeepsServing(t *testing.T) {
	s := newStill(t)
	s.write("web.yaml", route("web", "one"))
	s.look(lookRequest{all: true})
	s.must(os.Remove(filepath.Join(s.dir, "web.yaml")))
	s.look(lookRequest{paths: map[string]struct{}{"web.yaml": {}}})
	s.must(os.Remove(s.dir))
	s.later()
	if p := s.folder.Problems(); len(p) != 1 || !strings.Contains(p[0].Message, "stay in use") ||
		s.backend("web") != "one" {
		t.Errorf("a deleted folder: %v, backend %q", p, s.backend("web"))
	}
	s.write("api.yaml", route("api", "one"))
	s.look(lookRequest{all: true})
	if s.backend("web") != "one" || s.backend("api") != "one" {
		t.Error("the folder came back, perhaps not yet whole, and a route was dropped at once")
	}
	s.now = s.now.Add(2 * Hold)
	s.look(lookRequest{})
	if s.backend("web") != "" {
		t.Error("the folder came back without the route's file, and the route stayed")
	}
}

// A document that moves to another file, in two writes, leaves no gap.
func TestMoveBetweenFiles(t *testing.T) {
	s := newStill(t)
	s.write("a.yaml", route("web", "one")+route("api", "one"))
	s.write("b.yaml", route("other", "one"))
	s.look(lookRequest{all: true})
	published := s.folder.Stats().Published
	s.write("a.yaml", route("api", "one"))
	s.look(lookRequest{paths: map[string]struct{}{"a.yaml": {}}})
	if s.backend("web") != "one" {
		t.Fatal("a route was dropped before it could turn up elsewhere")
	}
	s.write("b.yaml", route("other", "one")+route("web", "one"))
	s.look(lookRequest{paths: map[string]struct{}{"b.yaml": {}}})
	s.later()
	if path := s.folder.NewLocator().PositionOf(model.Ref(model.KindHTTPRoute, "shop", "web"),
		"").File; path != "b.yaml" ||
		s.backend("web") != "one" {
		t.Errorf("the route stands in %q, backend %q", path, s.backend("web"))
	}
	if n := s.folder.Stats().Published - published; n != 1 {
		t.Errorf("the move published %d objects, expected one: it stands elsewhere now", n)
	}
}

// Of two documents of one file that declare an object the first serves, also when they change places.
func TestChangePlaces(t *testing.T) {
	s := newStill(t)
	one, two := route("web", "one"), route("web", "two")
	s.write("web.yaml", one+two)
	s.look(lookRequest{all: true})
	if s.backend("web") != "one" || len(s.folder.Problems()) != 1 {
		t.Fatal(s.backend("web"), s.folder.Problems())
	}
	s.write("web.yaml", two+one)
	s.look(lookRequest{paths: map[string]struct{}{"web.yaml": {}}})
	s.now = s.now.Add(Hold)
	s.look(lookRequest{})
	if p := s.folder.Problems(); s.backend("web") != "two" || len(p) != 1 || p[0].Line != 13 {
		t.Errorf("the backend is %q; problems: %v", s.backend("web"), p)
	}
}

// Nothing is kept of what is gone.
func TestForgets(t *testing.T) {
	s := newStill(t)
	s.write("web.yaml", route("web", "one")+route("web", "two"))
	s.look(lookRequest{all: true})
	s.must(os.Remove(filepath.Join(s.dir, "web.yaml")))
	s.look(lookRequest{all: true})
	s.later()
	if s.known() != 1 || len(s.folder.winners)+len(s.folder.contested)+len(s.folder.namespaces)+
		s.folder.objects.Count(lifecycle.Fading) > 0 {
		t.Errorf("only the default class is left, and %d objects are known, %d declared", s.known(), len(s.folder.winners))
	}
}

// What can't be listed is not gone. (A link to itself fails as a bad disk would, also for root.)
func TestUnreadableSubfolderKeepsServing(t *testing.T) {
	r := newRig(t, t.TempDir(), "")
	r.write(".real/web.yaml", route("web", "one"))
	sub := filepath.Join(r.dir, "sub")
	r.must(os.Symlink(".real", sub))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })
	r.must(os.Symlink("sub", filepath.Join(r.dir, ".loop")))
	r.must(os.Rename(filepath.Join(r.dir, ".loop"), sub))
	r.until("the problem", func() bool {
		p := r.folder.Problems()
		return len(p) == 1 && strings.Contains(p[0].String(), "sub: can't be read")
	})
	r.write("other.yaml", route("other", "one"))
	r.until("life going on", func() bool { return r.backend("other") == "one" })
	if r.backend("web") != "one" {
		t.Error("an unreadable folder took its routes along")
	}
	r.must(os.Remove(sub))
	r.until("the deletion", func() bool { return r.backend("web") == "" })
}

func TestMissingFolderThenThere(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "conf"), "")
	r.follow()
	if p := r.folder.Problems(); len(p) != 1 || !strings.Contains(p[0].String(), "does not exist") {
		t.Error(p)
	}
	r.write("web.yaml", route("web", "one"))
	r.until("the folder", func() bool { return r.backend("web") == "one" && len(r.folder.Problems()) == 0 })
}

func TestUnreadableFileKeepsServing(t *testing.T) {
	r := newRig(t, t.TempDir(), "")
	r.write("web.yaml", route("web", "one"))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" })
	// Too big rather than forbidden: a test may run as root, who may read anything.
	r.must(os.Truncate(filepath.Join(r.dir, "web.yaml"), MaxFileSize+1))
	r.until("the problem", func() bool { return len(r.folder.Problems()) == 1 })
	if p := r.folder.Problems()[0]; !p.Stale || !strings.Contains(p.Message, "too big") || r.backend("web") != "one" {
		t.Errorf("%v, backend %q", p, r.backend("web"))
	}
}

// Of two files that declare an object the first by path wins; when it goes, the other takes over, without a gap.
func TestTakeOver(t *testing.T) {
	r := newRig(t, t.TempDir(), "")
	r.write("a.yaml", route("web", "a"))
	r.write("b.yaml", route("web", "b"))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "a" && len(r.folder.Problems()) == 1 })
	p := r.folder.Problems()[0]
	if p.File != "b.yaml" || !strings.Contains(p.Message, "a.yaml") {
		t.Error(p)
	}
	r.must(os.Remove(filepath.Join(r.dir, "a.yaml")))
	r.until("the other", func() bool { return r.backend("web") == "b" && len(r.folder.Problems()) == 0 })
	ref := model.Ref(model.KindHTTPRoute, "shop", "web")
	r.graph.View(func(v flow.View) {
		if o, _ := flow.Get(v, r.sources.HTTPRoutes.Collection(), ref); o.Meta.Generation != 2 {
			t.Errorf("generation %d: the route was away, or did not change", o.Meta.Generation)
		}
	})
}

// A writer that truncates and writes slowly is never seen half-way.
func TestSlowWriter(t *testing.T) {
	r := newRig(t, t.TempDir(), "")
	r.write("all.yaml", route("web", "one")+route("api", "one"))
	r.follow()
	r.until("the first version", func() bool { return r.backend("api") == "one" })
	f, err := os.OpenFile(filepath.Join(r.dir, "all.yaml"), os.O_WRONLY|os.O_TRUNC, 0)
	r.must(err)
	text := route("web", "two") + route("api", "two")
	for i := range text {
		_, err := f.WriteString(text[i : i+1])
		r.must(err)
		if r.backend("api") == "" || r.backend("web") == "" {
			t.Fatal("a route was dropped in the middle of a write")
		}
	}
	r.must(f.Close())
	r.until("the end", func() bool { return r.backend("api") == "two" && r.backend("web") == "two" })
	if len(r.told) > 0 {
		t.Error("half a file was read:", r.told)
	}
}

// TestLinksToNothing: what a link would lead to can't be read while it is not there, and what was read of it serves on,
// until it is there or the link goes.
func TestLinksToNothing(t *testing.T) {
	for link, at := range map[string]string{"a.yaml": "real.yaml", "a.json": "real.json", "conf": "conf",
		"shop.example": "shop"} {
		t.Run(link, func(t *testing.T) {
			s, elsewhere := newStill(t), t.TempDir()
			target := filepath.Join(elsewhere, at)
			s.write("z.yaml", route("other", "one"))
			s.must(os.Symlink(target, filepath.Join(s.dir, link)))
			s.must(os.Symlink("nothing", filepath.Join(s.dir, "notes.txt"))) // may be to a folder
			s.must(os.Symlink("nothing", filepath.Join(s.dir, ".#a.yaml")))  // an editor's lock
			s.look(lookRequest{all: true})
			is := func(step, serves string, problems int) {
				t.Helper()
				if got := s.backend("web"); got != serves {
					t.Errorf("%s: %q is served, want %q", step, got, serves)
				}
				warning := Problem{File: "notes.txt", Severity: model.Warning, Message: LostLink}
				if p := s.folder.Problems(); len(p) != problems+1 || !slices.Contains(p, warning) {
					t.Errorf("%s: want %d problems and that of notes.txt, not %v", step, problems, p)
				}
			}
			isFolder := !isObjectFile(link)
			is("at the start", "", 1)
			if isFolder {
				s.must(os.Mkdir(target, 0o755))
				target = filepath.Join(target, "web.yaml")
			}
			text := route("web", "one")
			if link == "a.json" {
				text = `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}`
			}
			s.must(os.WriteFile(target, []byte(text), 0o644))
			serves := map[bool]string{true: "one"}[link != "a.json"]
			s.look(lookRequest{all: true})
			is("it is there", serves, 0)
			s.must(os.RemoveAll(filepath.Join(elsewhere, at)))
			if !isFolder {
				s.look(lookRequest{paths: map[string]struct{}{link: {}}})
			}
			s.later()
			s.later()
			is("it is gone", serves, 1)
			s.must(os.Remove(filepath.Join(s.dir, link)))
			s.later()
			s.later()
			is("the link is gone", "", 0)
		})
	}
}

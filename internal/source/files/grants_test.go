package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

const grant = `apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: open, namespace: shop}
spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: other}], to: [{group: "", kind: Service}]}
`

// granted says whether the ReferenceGrant is in the graph, and withdrawn whether the graph knows that it was.
func (s *still) granted() (granted, withdrawn bool) {
	ref := model.Ref(model.KindReferenceGrant, "shop", "open")
	s.graph.View(func(v flow.View) {
		_, granted = flow.Get(v, s.sources.ReferenceGrants.Collection(), ref)
		_, withdrawn = flow.Get(v, s.sources.Withdrawn.Collection(), ref)
	})
	return granted, withdrawn
}

// seen is what a notification of files brings: a look at them, and those that are due at once.
func (s *still) seen(names ...string) {
	s.t.Helper()
	paths := map[string]struct{}{}
	for _, name := range names {
		paths[name] = struct{}{}
	}
	s.look(lookRequest{paths: paths})
	s.look(lookRequest{})
}

// expect compares whether the grant is there, and how many problems tell of it.
func (s *still) expect(when string, granted bool, told int) {
	s.t.Helper()
	is, withdrawn := s.granted()
	n := 0
	for _, p := range s.folder.Problems() {
		if p.Object == "ReferenceGrant shop/open" {
			n++
		}
	}
	if is != granted || withdrawn == granted || n != told {
		s.t.Errorf("%s: granted %v, known as withdrawn %v, want %v; %d problems tell of it, want %d: %v", when, is, withdrawn,
			granted, n, told, s.folder.Problems())
	}
}

// A grant whose document is taken out of a file is gone at once, and comes back at once.
func TestGrantIsRevokedAtOnce(t *testing.T) {
	s := newStill(t)
	s.write("all.yaml", grant+secret("s"))
	s.write("other.yaml", service("a"))
	s.look(lookRequest{all: true})
	s.expect("at first", true, 0)
	s.write("all.yaml", secret("s"))
	s.seen("all.yaml")
	s.expect("taken out", false, 0)
	s.write("all.yaml", grant+secret("s"))
	s.seen("all.yaml")
	s.expect("put back", true, 0)
	s.write("other.yaml", service("a")+"---\n"+grant)
	s.write("all.yaml", secret("s"))
	s.seen("all.yaml", "other.yaml")
	s.expect("moved", true, 0)
}

// A grant whose file was deleted goes with what else was in that, since the folder may be about to go.
func TestGrantGoesWithItsFile(t *testing.T) {
	s := newStill(t)
	s.write("all.yaml", grant+secret("s"))
	s.write("other.yaml", service("a"))
	s.look(lookRequest{all: true})
	s.must(os.Remove(filepath.Join(s.dir, "all.yaml")))
	s.seen("all.yaml")
	s.expect("deleted", true, 0)
	s.now = s.now.Add(Hold)
	s.look(lookRequest{})
	s.expect("after Hold", false, 0)
	if s.generation(model.KindSecret, "s") != 0 {
		t.Error("the Secret of that file is still there")
	}
}

// While another file may have the grant, it waits until that can be told, for WithdrawTimeout at most.
func TestGrantWaitsForOtherFiles(t *testing.T) {
	lost := strings.Replace("---\n"+service("b")+"---\n"+grant, "---\napiVersion: gateway", "apiVersion: gateway", 1)
	for name, story := range map[string]struct {
		hide func(s *still) // takes the grant out, and makes something unreadable
		mend func(s *still)
		told string
	}{
		"a file that is no YAML": {
			func(s *still) { s.write("other.yaml", "]"); s.write("all.yaml", secret("s")) },
			func(s *still) { s.write("other.yaml", service("a")) }, "other.yaml",
		},
		"a kind that is mistyped": {
			func(s *still) {
				s.write("other.yaml", strings.Replace(grant, "ReferenceGrant", "ReferenceGrnat", 1))
				s.write("all.yaml", secret("s"))
			},
			func(s *still) { s.write("other.yaml", service("a")) }, "other.yaml",
		},
		"a lost separator": {
			func(s *still) { s.write("all.yaml", lost) },
			func(s *still) { s.write("all.yaml", service("b")) }, "all.yaml",
		},
		"a file that can't be read": {
			func(s *still) {
				s.must(os.Truncate(filepath.Join(s.dir, "other.yaml"), MaxFileSize+1))
				s.write("all.yaml", secret("s"))
			},
			func(s *still) { s.write("other.yaml", service("a")) }, "other.yaml",
		},
		"a file that is deleted": {
			func(s *still) { s.write("other.yaml", "]"); s.must(os.Remove(filepath.Join(s.dir, "all.yaml"))) },
			func(s *still) { s.write("other.yaml", service("a")) }, "other.yaml",
		},
		"a folder that can't be listed": {
			func(s *still) {
				s.must(os.Symlink("loop", filepath.Join(s.dir, "loop")))
				s.write("all.yaml", secret("s"))
			},
			func(s *still) { s.must(os.Remove(filepath.Join(s.dir, "loop"))) }, "loop",
		},
	} {
		for _, mended := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, mended %v", name, mended), func(t *testing.T) {
				s := newStill(t)
				s.write("all.yaml", service("b")+"---\n"+grant)
				s.write("other.yaml", service("a"))
				s.look(lookRequest{all: true})
				story.hide(s)
				s.look(lookRequest{all: true})
				s.later()
				s.expect("hidden", true, 1)
				if p := fmt.Sprint(s.folder.Problems()); !strings.Contains(p, "until "+story.told) {
					t.Errorf("nothing says what it waits for (%s): %s", story.told, p)
				}
				older := func() string { return s.folder.OutdatedObjects()[model.Ref(model.KindReferenceGrant, "shop", "open")] }
				if want := "is in no file any more; it stays in use until " + story.told; !strings.HasPrefix(older(), want) {
					t.Errorf("an older version serves: %q, want %q", older(), want)
				}
				if mended {
					story.mend(s)
				} else {
					s.now = s.now.Add(WithdrawTimeout - 2*Hold - time.Millisecond)
					s.look(lookRequest{all: true})
					s.expect("almost", true, 1)
					s.now = s.now.Add(time.Millisecond)
				}
				s.look(lookRequest{all: true})
				s.look(lookRequest{})
				s.expect("at the end", false, 0)
				if older() != "" {
					t.Errorf("at the end an older version serves: %q", older())
				}
			})
		}
	}
}

// A grant that comes back while it waits was never away.
func TestGrantComesBack(t *testing.T) {
	s := newStill(t)
	s.write("all.yaml", grant)
	s.write("other.yaml", service("a"))
	s.look(lookRequest{all: true})
	s.write("other.yaml", "]")
	s.write("all.yaml", secret("s"))
	s.look(lookRequest{all: true})
	s.later()
	s.expect("hidden", true, 1)
	s.write("other.yaml", grant)
	s.look(lookRequest{all: true})
	s.expect("back", true, 0)
	if g := s.generation(model.KindReferenceGrant, "open"); g != 1 {
		t.Errorf("generation %d: it was away", g)
	}
	s.write("other.yaml", service("a"))
	s.seen("other.yaml")
	s.expect("taken out", false, 0)
	if len(s.folder.missingGrants) > 0 {
		t.Error("it is still waited for")
	}
}

// A folder that is taken away and made anew is waited for with its grants, in whichever order its files go and come.
func TestGrantOfAFolderMadeAnew(t *testing.T) {
	for _, seen := range []bool{true, false} {
		t.Run(fmt.Sprintf("seen away %v", seen), func(t *testing.T) {
			s := newStill(t)
			s.write("grant.yaml", grant)
			s.write("web.yaml", route("web", "one"))
			s.look(lookRequest{all: true})
			for range 2 {
				s.must(os.Remove(filepath.Join(s.dir, "grant.yaml")))
				s.seen("grant.yaml")
				s.anewer(seen)
				s.now = s.now.Add(2 * Hold)
				s.look(lookRequest{all: true})
				s.expect("empty", true, 0)
				s.write("web.yaml", route("web", "one"))
				s.look(lookRequest{all: true})
				s.later()
				s.expect("its route is back", true, 1)
				s.now = s.now.Add(WithdrawTimeout / 2)
				s.write("grant.yaml", grant)
				s.look(lookRequest{all: true})
				s.later()
				s.expect("all is back", true, 0)
			}
			s.must(os.Remove(filepath.Join(s.dir, "grant.yaml")))
			s.anewer(seen)
			s.look(lookRequest{all: true})
			s.write("web.yaml", route("web", "one"))
			s.look(lookRequest{all: true})
			s.now = s.now.Add(WithdrawTimeout)
			s.look(lookRequest{all: true})
			s.expect("not back", false, 0)
		})
	}
}

// anewer makes the folder anew; perhaps a look falls in between.
func (s *still) anewer(seen bool) {
	s.must(os.RemoveAll(s.dir))
	if seen {
		s.look(lookRequest{all: true})
		s.now = s.now.Add(2 * WithdrawTimeout)
		s.look(lookRequest{all: true})
		s.expect("away", true, 0)
	}
	s.must(os.Mkdir(s.dir, 0o755))
	s.folder.refill.rootMoved = true // as its own events tell
}

// Of grants that are gone only so many are remembered.
func TestGrantsAreForgotten(t *testing.T) {
	s := newStill(t)
	var all strings.Builder
	for i := range maxWithdrawn + 5 {
		all.WriteString("---\n" + strings.Replace(grant, "name: open", fmt.Sprintf("name: open-%03d", i), 1))
	}
	s.write("all.yaml", all.String())
	s.write("other.yaml", service("a"))
	s.look(lookRequest{all: true})
	s.must(os.Remove(filepath.Join(s.dir, "all.yaml")))
	s.look(lookRequest{all: true})
	s.later()
	s.graph.View(func(v flow.View) {
		if n := flow.Len(v, s.sources.Withdrawn.Collection()); n != maxWithdrawn || len(s.folder.missingGrants) > 0 {
			t.Errorf("%d are remembered, %d waited for", n, len(s.folder.missingGrants))
		}
	})
}

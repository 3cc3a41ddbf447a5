package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsnotify/fsnotify"

	"cardea.dev/cardea/internal/core/model"
)

// anew takes the folder away and makes it again, empty.
func (r *rig) anew() {
	r.t.Helper()
	r.must(os.RemoveAll(r.dir))
	r.must(os.Mkdir(r.dir, 0o755))
}

// unfilled says whether the folder is believed to be on its way back.
func (r *rig) unfilled() bool {
	p := r.folder.Problems()
	return len(p) == 1 && strings.Contains(p[0].Message, "created again and has no .yaml, .yml or .json file yet")
}

// A folder that was seen to vanish and comes back empty is waited for; what comes late keeps serving until it is there.
func TestFolderMadeAnew(t *testing.T) {
	s := newStill(t)
	for _, name := range []string{"a", "b", "c"} {
		s.write(name+".yaml", route(name, "one"))
	}
	s.look(lookRequest{all: true})
	s.must(os.RemoveAll(s.dir))
	s.look(lookRequest{all: true})
	s.must(os.Mkdir(s.dir, 0o755))
	for range 5 {
		s.look(lookRequest{all: true})
		if !s.unfilled() || s.backend("a") != "one" {
			t.Fatalf("%v, backend %q", s.folder.Problems(), s.backend("a"))
		}
		s.now = s.now.Add(RefillTimeout / 6)
	}
	// The files come one by one, each a little before the others would be given up.
	for i, name := range []string{"a", "b"} {
		s.read(name+".yaml", route(name, "two"))
		s.look(lookRequest{all: true})
		s.now = s.now.Add(Hold * 3 / 4)
		s.look(lookRequest{})
		if s.backend("c") != "one" || s.backend("b") == "" {
			t.Fatalf("given up while files are coming (%d)", i)
		}
	}
	s.now = s.now.Add(Hold)
	s.look(lookRequest{})
	if got := s.backend("c"); got != "" || len(s.folder.Problems()) > 0 {
		t.Errorf("what did not come back: backend %q; %v", got, s.folder.Problems())
	}
	// Once it is whole, new files are no reason to wait.
	s.must(os.Remove(filepath.Join(s.dir, "b.yaml")))
	s.look(lookRequest{all: true})
	s.now = s.now.Add(Hold * 3 / 4)
	s.read("d.yaml", route("d", "one"))
	s.now = s.now.Add(Hold / 2)
	s.look(lookRequest{})
	if s.backend("b") != "" {
		t.Error("a deleted file serves on because another one came")
	}
}

// The same if nobody looked while it was away: its own events tell, or it is another folder than before.
func TestFolderMadeAnewBetweenLooks(t *testing.T) {
	for name, replace := range map[string]func(s *still){
		"removed and made": func(s *still) {
			s.anew()
			w, next := &watch{Folder: s.folder, watched: map[string]bool{s.dir: true}}, lookRequest{paths: map[string]struct{}{}}
			w.handleEvent(fsnotify.Event{Name: s.dir, Op: fsnotify.Remove}, &next)
		},
		"made, by its parent's word": func(s *still) {
			s.anew()
			w, next := &watch{Folder: s.folder}, lookRequest{paths: map[string]struct{}{}}
			w.handleEvent(fsnotify.Event{Name: s.dir, Op: fsnotify.Create}, &next)
		},
		"another one": func(s *still) {
			s.must(os.Rename(s.dir, s.dir+".away"))
			s.must(os.Mkdir(s.dir, 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStill(t)
			s.write("web.yaml", route("web", "one"))
			s.look(lookRequest{all: true})
			replace(s)
			s.look(lookRequest{all: true})
			s.later()
			if !s.unfilled() || s.backend("web") != "one" {
				t.Errorf("%v, backend %q", s.folder.Problems(), s.backend("web"))
			}
		})
	}
}

// Nobody waits for ever, and each return is waited for anew.
func TestFolderStaysEmpty(t *testing.T) {
	s := newStill(t)
	s.write("web.yaml", route("web", "one"))
	s.look(lookRequest{all: true})
	for range 2 {
		s.must(os.RemoveAll(s.dir))
		s.look(lookRequest{all: true})
		s.must(os.Mkdir(s.dir, 0o755))
		s.look(lookRequest{all: true})
		s.now = s.now.Add(RefillTimeout - 1)
		s.look(lookRequest{all: true})
		if !s.unfilled() || s.backend("web") != "one" {
			t.Fatalf("%v, backend %q", s.folder.Problems(), s.backend("web"))
		}
	}
	s.now = s.now.Add(1)
	s.look(lookRequest{all: true})
	s.now = s.now.Add(Hold)
	s.look(lookRequest{all: true})
	if p := fmt.Sprint(s.folder.Problems()); !strings.Contains(p, "the folder has no") || s.backend("web") != "" {
		t.Errorf("%v, backend %q", p, s.backend("web"))
	}
}

// A folder that is emptied stays the same folder: that is what was asked for.
func TestFolderEmptied(t *testing.T) {
	s := newStill(t)
	s.write("web.yaml", route("web", "one"))
	s.look(lookRequest{all: true})
	s.must(os.Remove(filepath.Join(s.dir, "web.yaml")))
	s.look(lookRequest{all: true})
	s.now = s.now.Add(Hold)
	s.look(lookRequest{all: true})
	if s.unfilled() || s.backend("web") != "" {
		t.Errorf("%v, backend %q", s.folder.Problems(), s.backend("web"))
	}
}

func TestFollowsFolderMadeAnew(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "conf"), "")
	r.write("web.yaml", route("web", "one"))
	r.write("sub/api.yaml", route("api", "one"))
	r.follow()
	r.until("the first version", func() bool { return r.backend("web") == "one" && r.backend("api") == "one" })
	r.anew()
	r.until("the problem", r.unfilled)
	r.write("sub/api.yaml", route("api", "two"))
	r.until("the first file", func() bool { return r.backend("api") == "two" })
	r.write("web.yaml", route("web", "two"))
	r.until("the second file", func() bool { return r.backend("web") == "two" && len(r.folder.Problems()) == 0 })
	if g := (&still{rig: r}).generation(model.KindHTTPRoute, "api"); g != 2 {
		t.Errorf("the first route that came back is of generation %d, want 2: it was away", g)
	}
}

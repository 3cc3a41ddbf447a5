package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

const (
	noObject = "all.yaml: the file holds no object"
	awaited  = noObject + "; the objects last read from it stay in use until it is written, for 10s at most"
)

// emptying makes a still whose file all.yaml held a route, a Secret and a ReferenceGrant and was emptied.
func emptying(t *testing.T, nothing string) *still {
	s := newStill(t)
	s.write("all.yaml", full("one"))
	s.write("other.yaml", service("one")+slice("one")+service("two")+slice("two"))
	s.look(lookRequest{all: true})
	s.empties("all.yaml", nothing)
	return s
}

func full(backend string) string { return route("web", backend) + secret("s") + "---\n" + grant }

// empties leaves nothing in a file but that text; all is seen that is due soon.
func (s *still) empties(name, nothing string) {
	s.t.Helper()
	s.write(name, nothing)
	s.seen(name)
	s.later()
}

// all compares what is there of all.yaml, and the problems.
func (s *still) all(when, backend string, problems ...string) {
	s.t.Helper()
	granted, _ := s.granted()
	if is := s.backend("web"); is != backend || granted != (backend != "") ||
		(s.generation(model.KindSecret, "s") > 0) != (backend != "") {
		s.t.Errorf("%s: backend %q, want %q; granted %v", when, is, backend, granted)
	}
	var told []string
	for _, p := range s.folder.Problems() {
		told = append(told, fmt.Sprintf("%s: %s", p.Severity, p))
	}
	if got, want := strings.Join(told, "\n"), strings.Join(problems, "\n"); got != want {
		s.t.Errorf("%s: problems\n%s\nwant\n%s", when, got, want)
	}
}

// A file that had objects and is empty is being written: what it held goes only when nothing comes for too long.
func TestEmptiedFile(t *testing.T) {
	for name, nothing := range map[string]string{
		"no byte": "", "white space": " \n\n", "comments": "# written by helm\n---\n# and nothing else\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := emptying(t, nothing)
			s.all("emptied", "one", "warning: "+awaited)
			s.now = s.now.Add(RefillTimeout / 2)
			s.empties("all.yaml", nothing+"\n")
			s.now = s.now.Add(RefillTimeout/2 - 4*Hold - time.Millisecond)
			s.look(lookRequest{all: true})
			s.all("almost", "one", "warning: "+awaited)
			s.now = s.now.Add(time.Millisecond)
			s.look(lookRequest{})
			s.all("at the end", "", "warning: "+noObject)
			s.write("all.yaml", full("two"))
			s.seen("all.yaml")
			s.all("written late", "two")
		})
	}
}

// What comes within that time was never away; what does not come goes as if it had been taken out.
func TestEmptiedFileIsWritten(t *testing.T) {
	s := emptying(t, "")
	s.write("all.yaml", full("two"))
	s.seen("all.yaml")
	s.all("written", "two")
	if g := s.generation(model.KindHTTPRoute, "web"); g != 2 {
		t.Errorf("generation %d: the route was away", g)
	}
	s.empties("all.yaml", "")
	s.all("emptied again", "two", "warning: "+awaited)
	s.write("all.yaml", service("b"))
	s.seen("all.yaml")
	if granted, _ := s.granted(); granted || s.backend("web") != "two" {
		t.Errorf("something else is written: granted %v, backend %q", granted, s.backend("web"))
	}
	s.later()
	s.all("something else was written", "")
}

// A mistake in what is written hides what the file held before it was emptied, as if it had not been.
func TestEmptiedFileIsWrittenWithAMistake(t *testing.T) {
	for name, text := range map[string]string{
		"a field":  strings.Replace(route("web", "two"), "rules", "rles", 1),
		"a kind":   strings.Replace(route("web", "two"), "HTTPRoute", "HTTPRuote", 1),
		"no YAML":  "]",
		"no UTF-8": "\xff",
	} {
		t.Run(name, func(t *testing.T) {
			s := emptying(t, "")
			s.write("all.yaml", text)
			s.seen("all.yaml")
			if name == "no UTF-8" { // nothing of it could be read: it is as it was
				s.now = s.now.Add(RefillTimeout / 2)
			} else {
				s.later()
				s.now = s.now.Add(2 * RefillTimeout)
			}
			s.look(lookRequest{all: true})
			if s.backend("web") != "one" {
				t.Errorf("the route is gone: %v", s.folder.Problems())
			}
			s.write("all.yaml", full("two"))
			s.seen("all.yaml")
			s.all("mended", "two")
		})
	}
}

// What moved to another file is that file's, and what is taken out of other files goes as ever.
func TestEmptiedFileMoved(t *testing.T) {
	s := emptying(t, "")
	s.write("z.yaml", full("two"))
	s.seen("z.yaml")
	s.all("moved", "two", "warning: "+noObject)
	s.write("z.yaml", service("b"))
	s.seen("z.yaml")
	s.later()
	s.all("taken out of the other file", "", "warning: "+noObject)
}

// A file that is deleted is not written any more.
func TestEmptiedFileIsDeleted(t *testing.T) {
	s := emptying(t, "")
	s.must(os.Remove(filepath.Join(s.dir, "all.yaml")))
	s.seen("all.yaml")
	s.later()
	s.all("deleted", "")
}

// What went is not brought back by a mistake.
func TestEmptiedFileIsForgotten(t *testing.T) {
	s := emptying(t, "")
	s.now = s.now.Add(RefillTimeout)
	s.look(lookRequest{all: true})
	s.all("given up", "", "warning: "+noObject)
	s.write("all.yaml", "]")
	s.seen("all.yaml")
	s.later()
	if s.backend("web") != "" {
		t.Error("a mistake brought back what was gone")
	}
}

// A file that never held an object has a warning, too; so has one that is read once.
func TestEmptyFile(t *testing.T) {
	s := newStill(t)
	s.write("all.yaml", "# to come\n")
	s.write("other.yaml", service("a"))
	s.must(s.folder.Load())
	s.graph.Settle()
	s.all("never written", "", "warning: "+noObject)
}

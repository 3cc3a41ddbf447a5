package filesync

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var edge = model.Ref(model.KindGateway, "infra", "edge")

const wait = 90 * time.Second

// plainNext is a dialect of one file for each resource: clusters are added first and removed last.
func plainNext(
	_ dataplane.FileFolders, written dataplane.FileSet, all map[resource.Name]resource.Resource,
) (step dataplane.FileStep, err error) {
	want := map[string][]byte{"lds": nil}
	for n, r := range all {
		want[n.Name] = []byte(r.Version)
		if is, known := written.Plain[n.Name]; !known || string(is) != r.Version {
			step.Missing = append(step.Missing, n)
		}
	}
	now, brings := maps.Clone(written.Plain), false
	for n, r := range all {
		if n.Type == xdstypes.Cluster && now != nil {
			_, known := now[n.Name]
			brings = brings || !known
			now[n.Name] = []byte(r.Version)
		}
	}
	added, switched := dataplane.FileSet{Plain: now}, dataplane.FileSet{Plain: maps.Clone(now)}
	if now != nil {
		maps.Copy(switched.Plain, want)
	}
	whole := dataplane.FileSet{Plain: want}
	step.Whole = whole
	switch {
	case now == nil:
		step.Stage, step.Files = dataplane.FilesSwitch, whole
	case brings:
		step.Stage, step.Files = dataplane.FilesAdd, added
	case !added.Equal(written):
		step.Stage, step.Files = dataplane.FilesUpdate, added
	case !switched.Equal(written):
		step.Stage, step.Files = dataplane.FilesSwitch, switched
	case !whole.Equal(written):
		step.Stage, step.Files = dataplane.FilesRemove, whole
	default:
		step.Files = written
	}
	return step, nil
}

// recorder notes what a folder is told, and when. It may be broken for a while.
type recorder struct {
	Folder
	begun time.Time

	mu     sync.Mutex
	broken bool
	lines  []string
}

// take returns what was noted since.
func (r *recorder) take() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines, r.lines = r.lines, nil
	return lines
}

func (r *recorder) breaks(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = broken
}

func (r *recorder) isBroken() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.broken
}

func (r *recorder) note(what string, s dataplane.FileSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("%v %s %s", time.Since(r.begun), what, brief(s)))
}

func brief(s dataplane.FileSet) string {
	var list []string
	for _, name := range s.FileNames() {
		list = append(list, name+"="+string(s.Plain[name]))
	}
	return strings.Join(list, " ")
}

func (r *recorder) Write(ctx context.Context, ref model.ObjectRef, s dataplane.FileSet, at time.Time) error {
	if r.isBroken() {
		return errors.New("no space")
	}
	r.note("write", s)
	return r.Folder.Write(ctx, ref, s, at)
}

func (r *recorder) Release(ctx context.Context, ref model.ObjectRef, s dataplane.FileSet) error {
	r.note("release", s)
	return r.Folder.Release(ctx, ref, s)
}

// stage is a Writer and its graph.
type stage struct {
	t         *testing.T
	graph     *flow.Graph
	gateways  *flow.Source[model.ObjectRef, model.Gateway]
	resources *flow.Source[resource.Key, resource.Resource]
	feedback  *resource.Feedback
	store     *recorder
	writer    *Writer
	log       bytes.Buffer
	stop      func()
}

func newStage(t *testing.T, dir string) *stage {
	t.Helper()
	g := flow.New(flow.Config{Name: "test", Check: true})
	s := &stage{
		t: t, graph: g, gateways: flow.NewSource[model.ObjectRef, model.Gateway](g, "gateways"),
		resources: flow.NewSource[resource.Key, resource.Resource](g, "resources"), feedback: resource.NewFeedback(g),
		store: &recorder{begun: time.Now(), Folder: Folder{Of: func(ref model.ObjectRef) string {
			return filepath.Join(dir, ref.Name())
		}}},
	}
	var err error
	s.writer, err = New(Config{
		Graph: g, Gateways: s.gateways.Collection(), Feedback: s.feedback,
		Resources: []*flow.Collection[resource.Key, resource.Resource]{s.resources.Collection()},
		Dialect: func(d model.DataPlane) dataplane.Dialect {
			dialect := dataplane.Dialect{Protocol: envoy.Protocol()}
			if d.ReadsFiles {
				dialect.Files = &dataplane.Files{NextStep: plainNext, MaxFiles: 5}
			}
			return dialect
		},
		Store: s.store, Sync: wait, Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- g.Run(ctx) }()
	go func() { done <- s.writer.Run(ctx) }()
	s.stop = func() {
		cancel()
		for range 2 {
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}
	return s
}

// edit sets resources, such as "c=1" and "t=1"; "-c" removes one. Names that begin with c are clusters, others route
// tables.
func (s *stage) edit(words ...string) {
	s.t.Helper()
	s.graph.Apply("edit", func(b *flow.Batch) {
		s.gateways.Set(b, edge, model.Gateway{Accepted: true, DataPlane: naming.FilesDataPlane})
		s.gateways.MarkSynced(b)
		s.resources.MarkSynced(b)
		for _, word := range words {
			name, version, _ := strings.Cut(strings.TrimPrefix(word, "-"), "=")
			key := resource.Key{Gateway: edge, Type: xdstypes.Routes, Name: name}
			if strings.HasPrefix(name, "c") {
				key.Type = xdstypes.Cluster
			}
			if strings.HasPrefix(word, "-") {
				s.resources.Delete(b, key)
				continue
			}
			s.resources.Set(b, key, resource.Resource{Version: version, Parts: []*resource.Part{{
				Fragments: []resource.Fragment{{Origin: resource.Origin{Section: name}, Hash: uint64(version[0] - '0')}},
			}}})
		}
	})
	synctest.Wait()
}

func (s *stage) wrote(want ...string) {
	s.t.Helper()
	if lines := s.store.take(); !slices.Equal(lines, want) {
		s.t.Errorf("written:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// told is what the graph knows: the hashes of fragments, and what is written.
func (s *stage) told() (list []string, w resource.WrittenFiles) {
	s.graph.View(func(v flow.View) {
		for k, hash := range flow.All(v, s.feedback.InFiles.Collection()) {
			if k.Origin.Section != "" {
				list = append(list, fmt.Sprintf("%s=%d", k.Origin.Section, hash))
			}
		}
		w, _ = flow.Get(v, s.feedback.Written.Collection(), edge)
	})
	slices.Sort(list)
	return list, w
}

func (s *stage) tells(want ...string) {
	s.t.Helper()
	if got, _ := s.told(); !slices.Equal(got, want) {
		s.t.Errorf("told %q, want %q", got, want)
	}
}

func bubble(t *testing.T, test func(*testing.T, *stage)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, dir)
		defer func() { s.stop() }()
		s.edit("c=1", "t=1")
		s.wrote("0s write c=1 lds= t=1")
		s.tells("c=1", "t=1")
		test(t, s)
	})
}

// TestSteps: what names something new waits until it was read, and what nothing names any more until that was.
func TestSteps(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		time.Sleep(10 * time.Minute)
		s.edit("-c", "cc=1", "t=2")
		s.wrote("10m0s write c=1 cc=1 lds= t=1")
		s.tells("cc=1", "t=1")
		time.Sleep(wait)
		synctest.Wait()
		s.wrote("11m30s write c=1 cc=1 lds= t=2")
		s.tells("cc=1", "t=2")
		time.Sleep(wait)
		synctest.Wait()
		s.wrote("13m0s write cc=1 lds= t=2")
		if _, w := s.told(); !w.At.Equal(s.store.begun.Add(13*time.Minute)) || w.Where == "" {
			t.Errorf("told %+v", w)
		}
		time.Sleep(time.Hour)
		s.wrote()
	})
}

// TestPlainEdits: what names nothing new is written at once, one edit after another.
func TestPlainEdits(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		for i, version := range []string{"2", "3", "4"} {
			s.edit("t="+version, "c="+version)
			s.wrote(
				fmt.Sprintf("0s write c=%s lds= t=%d", version, i+1), fmt.Sprintf("0s write c=%s lds= t=%s", version, version),
			)
		}
	})
}

// TestEditsWhileAStepWaits: they don't put it off, however many come, and endpoints don't wait at all.
func TestEditsWhileAStepWaits(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.edit("cc=1", "t=2")
		s.wrote("0s write c=1 cc=1 lds= t=1")
		time.Sleep(wait / 2)
		s.edit("ccc=1", "t=3", "c=2")
		s.wrote("45s write c=2 cc=1 ccc=1 lds= t=1")
		time.Sleep(wait / 2)
		synctest.Wait()
		s.wrote("1m30s write c=2 cc=1 ccc=1 lds= t=2")
		s.tells("c=2", "cc=1", "ccc=1", "t=1") // the row of the table as it was when all of it was current
		time.Sleep(wait / 2)
		synctest.Wait()
		s.wrote("2m15s write c=2 cc=1 ccc=1 lds= t=3")
		s.tells("c=2", "cc=1", "ccc=1", "t=3")
	})
}

// TestEditedBack: what waited and was edited back is not written.
func TestEditedBack(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.edit("cc=1", "t=2")
		s.edit("t=1")
		s.store.take()
		time.Sleep(wait)
		synctest.Wait()
		s.wrote()
		s.edit("t=4")
		s.wrote("1m30s write c=1 cc=1 lds= t=4")
	})
}

// TestRestart: another Writer goes on where the first one stopped, and waits as long.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first := newStage(t, dir)
		first.edit("c=1", "t=1")
		first.edit("cc=1", "t=2")
		first.stop()
		second := newStage(t, dir)
		defer second.stop()
		second.edit("c=1", "cc=1", "t=2")
		second.wrote()
		second.tells("c=1", "cc=1")
		time.Sleep(wait)
		synctest.Wait()
		second.wrote("1m30s write c=1 cc=1 lds= t=2")
	})
}

// TestTooLarge: what can't be written is told with its figures, and what was written stays. What is mended is written.
func TestTooLarge(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.edit("t=2", "t2=1", "t3=1", "t4=1")
		s.wrote()
		s.tells("c=1", "t=1")
		_, w := s.told()
		if want := "6 files are needed, but a proxy can follow 5 at most"; w.TooLarge != want || !w.At.Equal(s.store.begun) {
			t.Errorf("told %+v, want %q", w, want)
		}
		s.edit("c=2") // what is there already follows its endpoints
		s.wrote("0s write c=2 lds= t=1")
		if _, w := s.told(); w.TooLarge == "" {
			t.Error("it is not told any more")
		}
		s.edit("-t3", "-t4")
		s.wrote("0s write c=2 lds= t=2 t2=1")
		if _, w := s.told(); w.TooLarge != "" {
			t.Errorf("told %+v", w)
		}
	})
}

// TestRelease: a Gateway that reads no files any more leaves files without listeners, with all else for the requests
// that its proxies still have, and nothing is told of it.
func TestRelease(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.graph.Apply("edit", func(b *flow.Batch) {
			s.gateways.Set(b, edge, model.Gateway{Accepted: true, DataPlane: naming.DataPlane})
		})
		synctest.Wait()
		s.wrote("0s release c=1 lds= t=1")
		s.tells()
		if _, w := s.told(); w != (resource.WrittenFiles{}) {
			t.Errorf("told %+v", w)
		}
		s.edit("t=2")
		s.wrote() // proxies of before may still read the files
		time.Sleep(2 * wait)
		synctest.Wait()
		s.wrote("1m30s write c=1 lds= t=2")
	})
}

// TestMistake: while a Gateway is not accepted, since its DataPlane is missing, its proxies read files as before.
func TestMistake(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.graph.Apply("edit", func(b *flow.Batch) {
			s.gateways.Set(b, edge, model.Gateway{DataPlane: naming.DataPlane})
		})
		synctest.Wait()
		s.wrote()
		s.edit("t=2")
		s.wrote("0s write c=1 lds= t=2")
		s.tells("c=1", "t=2")
	})
}

// TestLook: what somebody else changed is mended.
func TestLook(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		if err := s.store.Folder.Write(t.Context(), edge, dataplane.FileSet{
			Plain: map[string][]byte{"lds": nil, "c": []byte("9"), "t": []byte("1"), "x": nil},
		}, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * wait)
		s.writer.RequestReread(edge)
		synctest.Wait()
		s.wrote("3m0s write c=1 lds= t=1 x=", "3m0s write c=1 lds= t=1")
	})
}

// TestStoreFails: it is tried again, and said once.
func TestStoreFails(t *testing.T) {
	bubble(t, func(t *testing.T, s *stage) {
		s.store.breaks(true)
		s.edit("t=2")
		time.Sleep(time.Minute)
		s.edit("t=3")
		s.tells("c=1", "t=1")
		if n := strings.Count(s.log.String(), "no space"); n != 1 {
			t.Errorf("said %d times:\n%s", n, s.log.String())
		}
		s.store.breaks(false)
		time.Sleep(lastPause)
		synctest.Wait()
		s.tells("c=1", "t=3")
	})
}

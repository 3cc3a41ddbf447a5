package apply

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
)

// beside is a worker beside the database, as pulls is one that asks over HTTP.
func (s *stage) beside() func(*Config) {
	return func(c *Config) { c.Work, c.Targets, c.Changes = s.Store, s.Targets, s.Store }
}

// backup copies the ledger.
func (s *stage) backup() string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "backup.db")
	s.must(s.Backup(s.t.Context(), path))
	return path
}

// restore goes on with a copy of the ledger.
func (s *stage) restore(path string) {
	s.t.Helper()
	s.must(s.Close())
	var err error
	s.Store, err = store.Open(s.t.Context(), store.Config{URL: path})
	s.must(err)
	s.path = path
}

// version is the resourceVersion of an object; "": it is not there.
func (s *stage) version(k ledger.Key) string {
	s.t.Helper()
	if o := s.live(k); o != nil {
		return o.GetResourceVersion()
	}
	return ""
}

// TestRestored: an older backup is restored after an object was changed, one deleted and one created. Nothing is
// written to the cluster, whatever is committed meanwhile, until it is said that the ledger counts. Then the cluster
// gets what differs, and nothing else is written.
func TestRestored(t *testing.T) {
	for name, mode := range map[string]func(*stage) func(*Config){"push": (*stage).beside, "pull": (*stage).pulls} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var keys []ledger.Key
			for i := range 5 {
				keys = append(keys, s.edit(s.numbered(i)).Key)
			}
			same, changed, deleted, created, next := keys[0], keys[1], keys[2], keys[3], keys[4]
			stop := s.run(mode(s))
			s.put(s.numbered(0), s.numbered(1), s.numbered(2))
			for _, k := range keys[:3] {
				s.synced(k)
			}
			backup := s.backup()
			s.put(strings.ReplaceAll(s.numbered(1), "red", "blue"))
			s.delete(deleted)
			s.put(s.numbered(3))
			s.synced(changed)
			s.synced(created)
			s.forgotten(deleted)
			stop()

			before := map[ledger.Key]string{}
			for _, k := range keys {
				before[k] = s.version(k)
			}
			s.restore(backup)
			for i := range 5 { // by then the ledger has more changes than the cluster has seen
				s.put(strings.ReplaceAll(s.numbered(4), "red", fmt.Sprint("red ", i)))
			}
			s.run(mode(s))
			for _, k := range []ledger.Key{next, changed, deleted} {
				f := s.fails(k, codeAhead)
				if !f.Permanent || !strings.Contains(f.Message, "cardea ledger restored") {
					t.Errorf("%s: the failure is %+v", k, f)
				}
			}
			for _, k := range keys {
				if now := s.version(k); now != before[k] {
					t.Errorf("%s was written: its version is %q, was %q", k, now, before[k])
				}
			}

			s.must(s.NewEpoch(t.Context()))
			for _, k := range []ledger.Key{same, changed, deleted, next} {
				s.synced(k)
			}
			if o := s.live(changed); field(o, "data", "color") != "red" {
				t.Errorf("what was changed is %v", o.Object)
			}
			id := s.live(same).GetAnnotations()[ledger.ObjectAnnotation]
			s.must(s.Observe(t.Context(), clusterName, []ledger.Observation{{Object: id, Correct: true}}))
			s.synced(same) // a new epoch is no reason to write it
			for _, k := range []ledger.Key{same, created} {
				if now := s.version(k); now != before[k] {
					t.Errorf("%s was written: its version is %q, was %q", k, now, before[k])
				}
			}
			s.delete(deleted) // in the new epoch it is deleted for good, too
			s.forgotten(deleted)
		})
	}
}

// TestRestoredAfterChange: what was changed since stays as it is, also if its target takes over or reports what others
// change, until it is said that the ledger counts.
func TestRestoredAfterChange(t *testing.T) {
	for _, d := range []ledger.Drift{ledger.DriftCorrect, ledger.DriftReport, ledger.DriftAdopt} {
		t.Run(string(d), func(t *testing.T) {
			s := newStage(t, drift(d))
			k := s.edit(configText).Key
			stop := s.run()
			s.put(configText)
			s.synced(k)
			backup := s.backup()
			s.put(strings.ReplaceAll(configText, "red", "blue"))
			s.synced(k)
			stop()
			version := s.version(k)
			s.restore(backup)
			s.run(s.beside(), func(c *Config) {
				c.Adopt = func(ctx context.Context, d ledger.Draft) error {
					_, err := s.Commit(ctx, d)
					return err
				}
			})
			s.fails(k, codeAhead)
			if now := s.version(k); now != version {
				t.Errorf("it was written: its version is %q, was %q", now, version)
			}
			s.must(s.NewEpoch(t.Context()))
			s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "data", "color") == "red" })
			s.synced(k)
			marked(t, s.live(k), 1, 1, 1)
		})
	}
}

// TestMarkerIsWrittenSeldom: without deletions the cluster's marker does not know of the ledger, and many deletions of
// one batch are one write.
func TestMarkerIsWrittenSeldom(t *testing.T) {
	s := newStage(t)
	const many = 20
	var d, removal ledger.Draft
	for i := range many {
		e := s.edit(s.numbered(i))
		d.Edits = append(d.Edits, e)
		removal.Edits = append(removal.Edits, ledger.Edit{Key: e.Key, Delete: true})
	}
	s.commit(d)
	stop := s.run()
	for _, e := range d.Edits {
		s.synced(e.Key)
	}
	head, err := s.Head(t.Context())
	s.must(err)
	if seen := s.marker()[ledger.IDOf(head.Epoch)]; seen != "" {
		t.Errorf("the cluster has seen %s", seen)
	}
	stop()
	last := s.commit(removal)
	var writes written
	s.run(writes.count)
	for _, e := range removal.Edits {
		s.forgotten(e.Key)
	}
	if n := writes.Load(); n != 1 {
		t.Errorf("%d writes", n)
	}
	want := fmt.Sprintf(`{"epoch":%q,"change":%d,"digest":%q}`, head.Epoch, last.Number, last.Digest)
	if seen := s.marker()[ledger.IDOf(head.Epoch)]; seen != want {
		t.Errorf("the cluster has seen %s, want %s", seen, want)
	}
}

// written counts the requests of a worker that write the marker.
type written struct {
	atomic.Int64
	http.RoundTripper
}

func (w *written) count(c *Config) {
	c.REST = rest.CopyConfig(c.REST)
	c.REST.Wrap(func(next http.RoundTripper) http.RoundTripper {
		w.RoundTripper = next
		return w
	})
}

// RoundTrip implements http.RoundTripper.
func (w *written) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/"+markerNamespace+"/configmaps") && r.Method != http.MethodGet {
		w.Add(1)
	}
	return w.RoundTripper.RoundTrip(r)
}

// marker is what the cluster has seen of ledgers.
func (s *stage) marker() map[string]string {
	s.t.Helper()
	m, err := s.cluster.Client.CoreV1().ConfigMaps(markerNamespace).Get(s.t.Context(), markerName, metav1.GetOptions{})
	if isMissing(err) {
		return nil
	}
	s.must(err)
	return m.Data
}

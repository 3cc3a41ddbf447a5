package kubeclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// server answers lists as tests say, once they let it; watches begin at once.
type server struct {
	lists   map[string]answer // by path
	release chan struct{}
}

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Has("watch") {
		return newResponse(r, http.StatusOK, http.Header{}, nil), nil
	}
	select {
	case <-s.release:
		is := s.lists[r.URL.Path]
		return newResponse(r, is.status, http.Header{}, is.body), nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// outcome is what becomes of a watch.
type outcome struct {
	status int
	err    error
}

// watch begins a watch at a version that the server's store, which is at version 5, has not.
func watch(ctx context.Context, t *testing.T, through http.RoundTripper, path string) <-chan outcome {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api"+path+"?watch=true&resourceVersion=100", nil)
	if err != nil {
		t.Fatal(err)
	}
	ends := make(chan outcome, 1)
	go func() {
		response, err := through.RoundTrip(r)
		if err != nil {
			ends <- outcome{err: err}
			return
		}
		_, err = io.Copy(io.Discard, response.Body)
		ends <- outcome{response.StatusCode, errors.Join(err, response.Body.Close())}
	}()
	return ends
}

const inA, inB = "/api/v1/namespaces/a/configmaps", "/api/v1/namespaces/b/configmaps"

func guarded(s server) http.RoundTripper { return NewGuard(func(Restoration) {}).Wrap(s) }

func newServer() server {
	five := answer{status: http.StatusOK, body: []byte(`{"metadata":{"resourceVersion":"5"}}`)}
	return server{
		lists:   map[string]answer{inA: {status: http.StatusForbidden}, inB: five},
		release: make(chan struct{}),
	}
}

// TestCancelled: a watch that waits for the version of the store ends with its request; one that waits for the same
// answer does not.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		guard := guarded(s)
		ctx, cancel := context.WithCancel(t.Context())
		first := watch(ctx, t, guard, inB)
		synctest.Wait()
		second := watch(t.Context(), t, guard, inB)
		synctest.Wait()
		cancel()
		if got := <-first; !errors.Is(got.err, context.Canceled) {
			t.Errorf("the watch that was cancelled: %+v", got)
		}
		close(s.release)
		if got := <-second; got.err != nil || got.status != http.StatusGone {
			t.Errorf("the other one: %+v, want 410", got)
		}
	})
}

// TestSharedRefusal: who may not list keeps nobody else from being guarded, and watches all the same.
func TestSharedRefusal(t *testing.T) {
	for _, paths := range []string{inA + " " + inB + " " + inB, inB + " " + inA} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			guard := guarded(s)
			var ends []<-chan outcome
			for path := range strings.FieldsSeq(paths) {
				ends = append(ends, watch(t.Context(), t, guard, path))
				synctest.Wait()
			}
			close(s.release)
			for i, path := range strings.Fields(paths) {
				want := http.StatusGone
				if i == 0 && path == inA { // it knows only its own answer
					want = http.StatusOK
				}
				if got := <-ends[i]; got.err != nil || got.status != want {
					t.Errorf("%s: watch %d: %+v, want %d", paths, i+1, got, want)
				}
			}
		})
	}
}

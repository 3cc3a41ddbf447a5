package status

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// wire counts and may hold or change what is asked of the API server.
type wire struct {
	mu      sync.Mutex
	asked   []asked
	meddle  func(asked) // before a request goes out
	refusal func(asked) *http.Response
}

// asked is one request.
type asked struct {
	verb, path string
	at         time.Time
}

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper { return trip{w, next} }

type trip struct {
	w    *wire
	next http.RoundTripper
}

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) {
	a := asked{r.Method, r.URL.Path, time.Now()}
	t.w.mu.Lock()
	t.w.asked = append(t.w.asked, a)
	meddle, refusal := t.w.meddle, t.w.refusal
	t.w.mu.Unlock()
	if meddle != nil {
		meddle(a)
	}
	if refusal != nil {
		if answer := refusal(a); answer != nil {
			return answer, nil
		}
	}
	return t.next.RoundTrip(r)
}

// writes are the writes of an object's status, of all objects of the stage if name is "".
func (s *stage) writes(name string) []asked { return s.asked(http.MethodPatch, name+"/status") }

// reads are the reads of one object.
func (s *stage) reads(name string) []asked { return s.asked(http.MethodGet, "/"+name) }

func (s *stage) asked(verb, suffix string) (list []asked) {
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	for _, a := range s.wire.asked {
		if a.verb == verb && strings.HasSuffix(a.path, suffix) && strings.Contains(a.path, "/namespaces/"+s.namespace+"/") {
			list = append(list, a)
		}
	}
	return list
}

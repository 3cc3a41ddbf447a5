package compat_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/compat"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/test/bodytest"
)

// TestBodies: a body is read of who may do something with it, as much as it may be, in time, and while there is room.
func TestBodies(t *testing.T) {
	limits := rest.NewLimits(6 << 20)
	r := newRig(t, func(c *compat.Config) { c.Limits = limits })
	a := r.create()
	r.ok(r.store.SetGrant(t.Context(), ledger.Grant{Name: "b", Subjects: []string{"bob"},
		Permissions: []ledger.Permission{ledger.MayRead}}, "test"))
	send := func(who, method, path, body string, length int64) (*bodytest.DeadlineRecorder, int) {
		q, read := bodytest.NewRequest(t, method, path, strings.NewReader(body), length)
		q.Header.Set("Authorization", "Bearer "+r.tokens[who])
		w := bodytest.NewDeadlineRecorder()
		r.handler.ServeHTTP(w, q)
		return w, read.Count
	}
	const update = `{"desired_spec": {"spec": {"replicas": 5}}}`
	for name, c := range map[string]struct {
		who, method, path string
		length            int64
		want              int
	}{
		"creates, and may not":           {"bob", "POST", resources, 64 << 20, 403},
		"changes, and may not":           {"bob", "PUT", resources + "/" + a.ID, 64 << 20, 403},
		"is nobody":                      {"", "POST", resources, 2, 401},
		"is a worker":                    {"c1", "POST", resources, 2, 403},
		"changes what is not there":      {"alice", "PUT", resources + "/none", 2, 404},
		"sends more than there may be":   {"alice", "PUT", resources + "/" + a.ID, 4<<20 + 1, 413},
		"creates more than there may be": {"alice", "POST", resources, 4<<20 + 1, 413},
	} {
		if w, read := send(c.who, c.method, c.path, update, c.length); w.Code != c.want || read != 0 {
			t.Errorf("who %s: %d, and %d bytes were read: %s", name, w.Code, read, w.Body)
		}
	}
	q := httptest.NewRequestWithContext(t.Context(), "POST", "/", nil)
	q.ContentLength = 4 << 20
	end, err := limits.ReserveBody(httptest.NewRecorder(), q, "somebody else", rest.BodyBytes)
	r.ok(err)
	w, read := send("alice", "PUT", resources+"/"+a.ID, strings.Repeat(" ", 3<<20)+update, int64(3<<20+len(update)))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || read != 0 {
		t.Errorf("without room: %d %v, and %d bytes were read", w.Code, w.Header(), read)
	}
	end()
	w, _ = send("alice", "PUT", resources+"/"+a.ID, strings.Repeat(" ", 3<<20)+update, int64(3<<20+len(update)))
	if n := len(w.Deadlines); w.Code != 200 || n < 2 || w.Deadlines[0].IsZero() || !w.Deadlines[n-1].IsZero() {
		t.Errorf("with room: %d %s, deadlines %v", w.Code, w.Body, w.Deadlines)
	}
	if w, _ = send("alice", "PUT", resources+"/"+a.ID, update, -1); w.Code != 200 {
		t.Errorf("of unknown length: %d %s", w.Code, w.Body)
	}
}

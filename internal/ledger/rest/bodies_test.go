package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/wire"
	"cardea.dev/cardea/internal/test/bodytest"
)

// send has a body answered without a connection, and says how much of it was read.
func (r *rig) send(c call, body io.Reader, length int64) (*bodytest.DeadlineRecorder, int) {
	r.t.Helper()
	q, read := bodytest.NewRequest(r.t, c.method, rest.Prefix+c.path, body, length)
	q.Header.Set("Authorization", "Bearer "+r.tokens[c.who])
	q.Header.Set("Content-Type", "application/json")
	for name, value := range c.header {
		q.Header.Set(name, value)
	}
	w := bodytest.NewDeadlineRecorder()
	r.handler.ServeHTTP(w, q)
	return w, read.Count
}

// TestBodiesOfWhoMayNotAreNotRead: whether somebody may do something is decided before the body is read, as far as it
// can be known; and nobody sends more than they may.
func TestBodiesOfWhoMayNotAreNotRead(t *testing.T) {
	r := newRig(t)
	for _, g := range []ledger.Grant{
		{Name: "dora", Subjects: []string{"carol"}, Permissions: []ledger.Permission{ledger.MayApprove}},
		{Name: "bob-writes", Subjects: []string{"bob"}, Permissions: []ledger.Permission{ledger.MayWrite},
			Namespaces: []string{"shop"}},
	} {
		r.ok(r.store.SetGrant(t.Context(), g, "test"))
	}
	created := map[string]string{"If-None-Match": "*"}
	const mebi = 1 << 20
	for name, c := range map[string]struct {
		call
		length int64
		want   int
	}{
		"a change":               {call{who: "carol", method: "POST", path: "/changes"}, 64 * mebi, 403},
		"a small one":            {call{who: "carol", method: "POST", path: "/changes"}, 2, 403},
		"of unknown length":      {call{who: "carol", method: "POST", path: "/changes"}, -1, 403},
		"a preview":              {call{who: "carol", method: "POST", path: "/preview"}, 2, 403},
		"a proposal":             {call{who: "carol", method: "POST", path: "/proposals"}, 2, 403},
		"an undo":                {call{who: "bob", method: "POST", path: "/changes/1/undo"}, 2, 403},
		"an approval":            {call{who: "bob", method: "POST", path: "/proposals/1/approve"}, 2, 403},
		"an object":              {call{who: "carol", method: "PUT", path: path("web"), header: created}, 2, 403},
		"a grant":                {call{who: "alice", method: "PUT", path: "/grants/a"}, 2, 403},
		"a target":               {call{who: "alice", method: "PUT", path: "/targets/a"}, 2, 403},
		"work":                   {call{who: "alice", method: "POST", path: "/clusters/east/claims"}, 2, 403},
		"nobody":                 {call{who: "", method: "POST", path: "/changes"}, 2, 401},
		"too much of one writer": {call{who: "bob", method: "POST", path: "/changes"}, 4*mebi + 1, 413},
		"too much of anybody":    {call{who: "alice", method: "POST", path: "/changes"}, 64*mebi + 1, 413},
		"too much of an object":  {call{who: "alice", method: "PUT", path: path("web"), header: created}, 4*mebi + 1, 413},
		"too much of a question": {call{who: "alice", method: "POST", path: "/objects/query"}, 4*mebi + 1, 413},
	} {
		if w, read := r.send(c.call, &endless{left: 64 * mebi}, c.length); w.Code != c.want || read != 0 {
			t.Errorf("%s: %d, and %d bytes were read: %s", name, w.Code, read, w.Body)
		}
	}
	// Who may write a whole target may send more, and who may not, as much as others.
	for name, c := range map[string]struct {
		who  string
		size int
	}{"of a whole target": {"alice", 6 * mebi}, "of a namespace": {"bob", 3 * mebi}} {
		body := changeOf(c.size)
		w, read := r.send(call{who: c.who, method: "POST", path: "/changes"}, strings.NewReader(body), int64(len(body)))
		if w.Code != 201 || read != len(body) {
			t.Errorf("%s: %d, and %d bytes were read: %.300s", name, w.Code, read, w.Body)
		}
	}
}

// changeOf is a draft of about so many bytes: objects of namespace shop that nobody has.
func changeOf(size int) string {
	var d wire.Draft
	for i := range size >> 20 {
		content := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c%d-%d", "namespace": "shop"},
			"data": [%s1]}`, size, i, strings.Repeat("[],", 1<<20/3))
		d.Edits = append(d.Edits, wire.Edit{Content: ledger.Content(content)})
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestBodiesArriveInTime: a body has a deadline from its first byte on, and what comes after it has none of it.
func TestBodiesArriveInTime(t *testing.T) {
	r := newRig(t)
	body := `{"edits": [{"content": ` + web("a", "a.example") + `}]}`
	for _, length := range []int64{int64(len(body)), -1} {
		before := time.Now()
		w, _ := r.send(call{who: "alice", method: "POST", path: "/changes"}, strings.NewReader(body), length)
		var set []time.Time
		for _, d := range w.Deadlines {
			if !d.IsZero() || len(set) > 0 {
				set = append(set, d)
			}
		}
		if w.Code >= 300 || len(set) < 2 || set[0].Before(before) || set[0].After(time.Now().Add(time.Minute)) ||
			!set[len(set)-1].IsZero() {
			t.Errorf("length %d: %d %s, deadlines %v", length, w.Code, w.Body, w.Deadlines)
		}
	}
}

// TestRoomForBodies: all bodies that are in flight have a bound. One more is told to come later, also what others than
// its sender have in flight; and when that is answered, there is room again.
func TestRoomForBodies(t *testing.T) {
	r := newRig(t, func(c *rest.Config) { c.Limits = rest.NewLimits(6 << 20) })
	arrives, waits := io.Pipe()
	ended, began := make(chan int), make(chan struct{})
	go func() {
		w, _ := r.send(call{who: "alice", method: "POST", path: "/changes"}, &began1{arrives, began}, 4<<20)
		ended <- w.Code
	}()
	<-began
	create := func(name string) call {
		return call{who: "root", method: "PUT", path: path(name), header: map[string]string{"If-None-Match": "*"}}
	}
	w, read := r.send(create("big"), &endless{left: 3 << 20}, 3<<20)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || read != 0 {
		t.Errorf("without room: %d %v, %d bytes were read", w.Code, w.Header(), read)
	}
	small := web("small", "small.example")
	if w, _ := r.send(create("small"), strings.NewReader(small), int64(len(small))); w.Code != 201 {
		t.Errorf("what there is room for: %d %s", w.Code, w.Body)
	}
	waits.CloseWithError(io.ErrUnexpectedEOF)
	<-ended
	big := strings.Replace(web("big", "big.example"), "{", "{"+strings.Repeat(" ", 3<<20), 1)
	if w, _ := r.send(create("big"), strings.NewReader(big), int64(len(big))); w.Code != 201 {
		t.Errorf("with room again: %d %s", w.Code, w.Body)
	}
}

// began1 says when it is read for the first time.
type began1 struct {
	io.Reader
	began chan struct{}
}

func (b *began1) Read(to []byte) (int, error) {
	if b.began != nil {
		close(b.began)
		b.began = nil
	}
	return b.Reader.Read(to)
}

// TestShareOfACaller: nobody takes the room of all others.
func TestShareOfACaller(t *testing.T) {
	l := rest.NewLimits(0)
	body := func(who string, most int64) (func(), error) {
		q := httptest.NewRequestWithContext(t.Context(), "POST", "/", bytes.NewReader(make([]byte, rest.BodyBytes)))
		return l.ReserveBody(httptest.NewRecorder(), q, who, most)
	}
	var ends []func()
	for i := range 4 {
		end, err := body("carol", rest.BodyBytes)
		if err != nil {
			t.Fatalf("body %d: %v", i, err)
		}
		ends = append(ends, end)
	}
	if _, err := body("carol", rest.BodyBytes); ledger.CodeOf(err) != ledger.TooMany {
		t.Errorf("a fifth body: %v", err)
	}
	for _, who := range []string{"dora", "carol"} { // another one, and who may send more
		end, err := body(who, ledger.MaxBytes)
		if err != nil {
			t.Errorf("%s: %v", who, err)
			continue
		}
		end()
	}
	ends[0]()
	if _, err := body("carol", rest.BodyBytes); err != nil {
		t.Errorf("after one ended: %v", err)
	}
}

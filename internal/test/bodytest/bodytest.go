// Package bodytest tells tests of HTTP handlers how a request's body was read.
//
// It owns no server, and must never know what is served. Start reading at NewRequest.
package bodytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Body counts what is read of it.
type Body struct {
	io.Reader
	Count int // bytes
}

// Read implements io.Reader.
func (b *Body) Read(into []byte) (int, error) {
	n, err := b.Reader.Read(into)
	b.Count += n
	return n, err
}

// Close implements io.Closer.
func (*Body) Close() error { return nil }

// DeadlineRecorder notes the deadlines that are set for reading the body.
type DeadlineRecorder struct {
	*httptest.ResponseRecorder
	Deadlines []time.Time // in the order in which they were set; zero: none any more
}

// NewDeadlineRecorder makes an DeadlineRecorder.
func NewDeadlineRecorder() *DeadlineRecorder {
	return &DeadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
}

// SetReadDeadline is what http.ResponseController calls.
func (a *DeadlineRecorder) SetReadDeadline(t time.Time) error {
	a.Deadlines = append(a.Deadlines, t)
	return nil
}

// NewRequest makes a request whose body says that it has length bytes; -1: it does not say.
func NewRequest(t *testing.T, method, path string, body io.Reader, length int64) (*http.Request, *Body) {
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	counts := &Body{Reader: body}
	r.Body, r.ContentLength = counts, length
	return r, counts
}

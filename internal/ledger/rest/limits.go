package rest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Bounds of bodies.
const (
	// BodyBytes is how many bytes a body may have. A caller who may write a whole target may send ledger.MaxBytes.
	BodyBytes = 4 << 20
	// BodiesBytes is the default for how many bytes all bodies together may have that are being read and answered.
	BodiesBytes = 2 * ledger.MaxBytes
	// shareBytes is how many of those bytes a caller may have, unless a single body has more.
	shareBytes = 4 * BodyBytes
	// BodyTime is how long a body may take to arrive.
	BodyTime = time.Minute
)

// Limits bound what callers cost a server, in all its APIs together: the bytes of bodies in flight, the work under way
// (ConcurrencyLimit), and the denials that are noted. Any goroutine may use them.
type Limits struct {
	bodies int64 // bytes that may be in flight

	mu      sync.Mutex
	used    int64
	callers map[string]*callerUse // by subject; those who have something in flight
	slots   map[string]int        // by ConcurrencyLimit.Name: how many there are
	denials denialNotes
}

// callerUse is what a caller has in flight.
type callerUse struct {
	bytes int64
	slots map[string]int
}

// NewLimits makes Limits. bodies is how many bytes of bodies may be in flight; 0: BodiesBytes.
func NewLimits(bodies int64) *Limits {
	if bodies == 0 {
		bodies = BodiesBytes
	}
	return &Limits{bodies: bodies, callers: map[string]*callerUse{}, slots: map[string]int{}}
}

// useOf is what a caller has in flight. l.mu is held.
func (l *Limits) useOf(who string) *callerUse {
	u := l.callers[who]
	if u == nil {
		u = &callerUse{slots: map[string]int{}}
		l.callers[who] = u
	}
	return u
}

// dropIdle forgets a caller who has nothing in flight. l.mu is held.
func (l *Limits) dropIdle(who string) {
	if u := l.callers[who]; u != nil && u.bytes == 0 && len(u.slots) == 0 {
		delete(l.callers, who)
	}
}

// ReserveBody reserves room for the body of a caller's request until release is called. most is how many bytes the body
// may have. A body without a Content-Length is read here, any other one is not. The errors are TooLarge, TooMany (the
// caller has too many bytes in flight) and Unavailable (all callers together have).
func (l *Limits) ReserveBody(
	w http.ResponseWriter, r *http.Request, who string, most int64,
) (release func(), err error) {
	size := r.ContentLength
	switch {
	case size > most:
		return nil, tooLarge(most)
	case size < 0:
		size = min(most, BodyBytes)
	}
	if err := l.reserveBytes(who, size, max(most, shareBytes)); err != nil {
		return nil, err
	}
	release = func() { l.releaseBytes(who, size) }
	r.Body = &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
	if r.ContentLength >= 0 {
		return release, nil
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, size+1))
	switch {
	case err != nil:
		err = BodyReadError(err)
	case int64(len(text)) > size:
		err = tooLarge(size)
	default:
		r.Body = io.NopCloser(bytes.NewReader(text))
		return release, nil
	}
	release()
	return nil, err
}

// timedBody is a body that must arrive within BodyTime of its first read. The deadline ends with the body, so it does
// not end the request while it is answered.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	started bool
}

func (a *timedBody) Read(b []byte) (int, error) {
	if !a.started {
		a.started = true
		_ = a.control.SetReadDeadline(time.Now().Add(BodyTime)) // where the connection can't, the server's own one counts
	}
	n, err := a.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		_ = a.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// BodyReadError says why a body did not come.
func BodyReadError(err error) error {
	if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
		return &wire.Problem{Status: http.StatusRequestTimeout, Title: http.StatusText(http.StatusRequestTimeout),
			Code: ledger.Unavailable, Detail: "the body did not come within " + BodyTime.String()}
	}
	return &ledger.Error{Code: ledger.Invalid, Message: "the request broke off", Cause: err}
}

func (l *Limits) reserveBytes(who string, size, share int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.useOf(who)
	switch {
	case u.bytes+size > share:
		return &ledger.Error{Code: ledger.TooMany, Message: "your other requests with large bodies are not finished yet",
			Fix: "send one request at a time"}
	case l.used+size > l.bodies:
		l.dropIdle(who)
		return &ledger.Error{Code: ledger.Unavailable, Message: "the server has no memory for the request's body now",
			Fix: "send it again in a second"}
	}
	u.bytes += size
	l.used += size
	return nil
}

func (l *Limits) releaseBytes(who string, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.useOf(who).bytes -= size
	l.used -= size
	l.dropIdle(who)
}

func tooLarge(most int64) *ledger.Error {
	e := &ledger.Error{Code: ledger.TooLarge, Message: "the request has more than 64 MiB",
		Fix: "make several changes of it"}
	if most < ledger.MaxBytes {
		e.Message = "the request has more than 4 MiB"
		e.Fix = "send less at once; a caller who may write all objects of a target may send 64 MiB, with a Content-Length"
	}
	return e
}

// ConcurrencyLimit is a kind of work that is done a few at a time.
type ConcurrencyLimit struct {
	Name             string // "watches"
	PerCaller, Total int    // how many a caller, and all callers together, may have at a time
	// Wait is how long a request waits for its turn; 0: it is refused at once. At most QueuePerSlot times Each requests of
	// a caller wait.
	Wait time.Duration
}

// The kinds of work that take turns.
var (
	Watches  = ConcurrencyLimit{Name: "watches", PerCaller: 64, Total: 1024}
	Waiting  = ConcurrencyLimit{Name: "waiting requests", PerCaller: 16, Total: 1024}
	Previews = ConcurrencyLimit{Name: "previews", PerCaller: 4, Total: 32, Wait: 10 * time.Second}
	DryRuns  = ConcurrencyLimit{Name: "dry runs in clusters", PerCaller: 4, Total: 64, Wait: 10 * time.Second}
)

// QueuePerSlot is how many requests of a caller wait for each turn that the caller may have.
const QueuePerSlot = 4

// slotPoll is how often a request that waits for its turn looks whether it has come.
const slotPoll = 20 * time.Millisecond

// AcquireSlot takes a turn for a caller, until end is called. The error is TooMany if the caller has as many as may be,
// and Unavailable if all callers together have.
func (l *Limits) AcquireSlot(ctx context.Context, who string, t ConcurrencyLimit) (end func(), err error) {
	if end, err = l.tryAcquire(who, t); err == nil || t.Wait == 0 {
		return end, err
	}
	leave, err := l.tryAcquire(who, ConcurrencyLimit{Name: "waiting " + t.Name, PerCaller: QueuePerSlot * t.PerCaller,
		Total: QueuePerSlot * t.Total})
	if err != nil {
		return nil, err
	}
	defer leave()
	for waited := time.Duration(0); ; waited += slotPoll {
		if end, err = l.tryAcquire(who, t); err == nil || waited >= t.Wait {
			return end, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(slotPoll):
		}
	}
}

func (l *Limits) tryAcquire(who string, t ConcurrencyLimit) (end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.useOf(who)
	switch {
	case u.slots[t.Name] >= t.PerCaller:
		return nil, &ledger.Error{Code: ledger.TooMany, Message: "there are as many " + t.Name + " of yours as may be",
			Fix: "end one of them, or try again later"}
	case l.slots[t.Name] >= t.Total:
		l.dropIdle(who)
		return nil, &ledger.Error{Code: ledger.Unavailable, Message: "the server has as many " + t.Name + " as may be",
			Fix: "try again later"}
	}
	u.slots[t.Name]++
	l.slots[t.Name]++
	return sync.OnceFunc(func() { l.releaseSlot(who, t) }), nil
}

func (l *Limits) releaseSlot(who string, t ConcurrencyLimit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots[t.Name]--
	u := l.useOf(who)
	if u.slots[t.Name]--; u.slots[t.Name] == 0 {
		delete(u.slots, t.Name)
	}
	l.dropIdle(who)
}

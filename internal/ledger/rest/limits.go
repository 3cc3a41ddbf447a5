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
// (Turn), and the denials that are noted. Any goroutine may use them.
type Limits struct {
	bodies int64 // bytes that may be in flight

	mu      sync.Mutex
	used    int64
	callers map[string]*callerUse // by subject; those who have something in flight
	turns   map[string]int        // by Turn.What: how many there are
	denials denials
}

// callerUse is what a caller has in flight.
type callerUse struct {
	bytes int64
	turns map[string]int
}

// NewLimits makes Limits. bodies is how many bytes of bodies may be in flight; 0: BodiesBytes.
func NewLimits(bodies int64) *Limits {
	if bodies == 0 {
		bodies = BodiesBytes
	}
	return &Limits{bodies: bodies, callers: map[string]*callerUse{}, turns: map[string]int{}}
}

// use is what a caller has in flight. l.mu is held.
func (l *Limits) use(who string) *callerUse {
	u := l.callers[who]
	if u == nil {
		u = &callerUse{turns: map[string]int{}}
		l.callers[who] = u
	}
	return u
}

// tidy forgets a caller who has nothing in flight. l.mu is held.
func (l *Limits) tidy(who string) {
	if u := l.callers[who]; u != nil && u.bytes == 0 && len(u.turns) == 0 {
		delete(l.callers, who)
	}
}

// Body reserves room for the body of a caller's request until release is called. most is how many bytes the body may
// have. A body without a Content-Length is read here, any other one is not. The errors are TooLarge, TooMany (the
// caller has too many bytes in flight) and Unavailable (all callers together have).
func (l *Limits) Body(w http.ResponseWriter, r *http.Request, who string, most int64) (release func(), err error) {
	size := r.ContentLength
	switch {
	case size > most:
		return nil, tooLarge(most)
	case size < 0:
		size = min(most, BodyBytes)
	}
	if err := l.take(who, size, max(most, shareBytes)); err != nil {
		return nil, err
	}
	release = func() { l.give(who, size) }
	r.Body = &arriving{ReadCloser: r.Body, control: http.NewResponseController(w)}
	if r.ContentLength >= 0 {
		return release, nil
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, size+1))
	switch {
	case err != nil:
		err = BrokenOff(err)
	case int64(len(text)) > size:
		err = tooLarge(size)
	default:
		r.Body = io.NopCloser(bytes.NewReader(text))
		return release, nil
	}
	release()
	return nil, err
}

// arriving is a body that must arrive within BodyTime of its first read. The deadline ends with the body, so it does
// not end the request while it is answered.
type arriving struct {
	io.ReadCloser
	control *http.ResponseController
	begun   bool
}

func (a *arriving) Read(b []byte) (int, error) {
	if !a.begun {
		a.begun = true
		_ = a.control.SetReadDeadline(time.Now().Add(BodyTime)) // where the connection can't, the server's own one counts
	}
	n, err := a.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		_ = a.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// BrokenOff says why a body did not come.
func BrokenOff(err error) error {
	if timeout, is := errors.AsType[net.Error](err); is && timeout.Timeout() {
		return &wire.Problem{Status: http.StatusRequestTimeout, Title: http.StatusText(http.StatusRequestTimeout),
			Code: ledger.Unavailable, Detail: "the body did not come within " + BodyTime.String()}
	}
	return &ledger.Error{Code: ledger.Invalid, Message: "the request broke off", Cause: err}
}

func (l *Limits) take(who string, size, share int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.use(who)
	switch {
	case u.bytes+size > share:
		return &ledger.Error{Code: ledger.TooMany, Message: "other requests of yours with large bodies are being answered",
			Fix: "send one after the other"}
	case l.used+size > l.bodies:
		l.tidy(who)
		return &ledger.Error{Code: ledger.Unavailable, Message: "the server has no room for the request's body",
			Fix: "send it again in a second"}
	}
	u.bytes += size
	l.used += size
	return nil
}

func (l *Limits) give(who string, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.use(who).bytes -= size
	l.used -= size
	l.tidy(who)
}

func tooLarge(most int64) *ledger.Error {
	e := &ledger.Error{Code: ledger.TooLarge, Message: "the request has more than 64 MiB",
		Fix: "make several changes of it"}
	if most < ledger.MaxBytes {
		e.Message = "the request has more than 4 MiB"
		e.Fix = "send less at once; a change of who may write all of a target may have 64 MiB, with a Content-Length"
	}
	return e
}

// Turn is a kind of work that is done a few at a time.
type Turn struct {
	What      string // "watches"
	Each, All int    // how many a caller, and all callers together, may have at a time
	// Waits is how long a request waits for its turn; 0: it is refused at once. At most Queue times Each requests of a
	// caller wait.
	Waits time.Duration
}

// The kinds of work that take turns.
var (
	Watches  = Turn{What: "watches", Each: 64, All: 1024}
	Waiting  = Turn{What: "waiting requests", Each: 16, All: 1024}
	Previews = Turn{What: "previews", Each: 4, All: 32, Waits: 10 * time.Second}
	DryRuns  = Turn{What: "dry runs in clusters", Each: 4, All: 64, Waits: 10 * time.Second}
)

// Queue is how many requests of a caller wait for each turn that the caller may have.
const Queue = 4

// turnStep is how often a request that waits for its turn looks whether it has come.
const turnStep = 20 * time.Millisecond

// Begin takes a turn for a caller, until end is called. The error is TooMany if the caller has as many as may be, and
// Unavailable if all callers together have.
func (l *Limits) Begin(ctx context.Context, who string, t Turn) (end func(), err error) {
	if end, err = l.begin(who, t); err == nil || t.Waits == 0 {
		return end, err
	}
	leave, err := l.begin(who, Turn{What: "waiting " + t.What, Each: Queue * t.Each, All: Queue * t.All})
	if err != nil {
		return nil, err
	}
	defer leave()
	for waited := time.Duration(0); ; waited += turnStep {
		if end, err = l.begin(who, t); err == nil || waited >= t.Waits {
			return end, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(turnStep):
		}
	}
}

func (l *Limits) begin(who string, t Turn) (end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.use(who)
	switch {
	case u.turns[t.What] >= t.Each:
		return nil, &ledger.Error{Code: ledger.TooMany, Message: "there are as many " + t.What + " of yours as may be",
			Fix: "end one of them, or try again later"}
	case l.turns[t.What] >= t.All:
		l.tidy(who)
		return nil, &ledger.Error{Code: ledger.Unavailable, Message: "the server has as many " + t.What + " as may be",
			Fix: "try again later"}
	}
	u.turns[t.What]++
	l.turns[t.What]++
	return sync.OnceFunc(func() { l.end(who, t) }), nil
}

func (l *Limits) end(who string, t Turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns[t.What]--
	u := l.use(who)
	if u.turns[t.What]--; u.turns[t.What] == 0 {
		delete(u.turns, t.What)
	}
	l.tidy(who)
}

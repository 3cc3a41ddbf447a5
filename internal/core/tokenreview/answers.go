package tokenreview

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
)

// The answers that are remembered, and for how long.
const (
	acceptedFor   = 10 * time.Second // then it is asked about again; a token of a pod that is gone is refused from then on
	refusedFor    = 2 * time.Second  // whoever tries again and again asks no more often
	unknownFor    = 2 * time.Second  // the same, for who was accepted before
	reviewTimeout = 5 * time.Second
	maxReviews    = 4096
	// reviewsAtOnce is how many questions of strangers are under way at most, whoever asks: each forged token is one.
	// There are as many for those who were accepted before, however long ago, so that strangers do not hold them up.
	reviewsAtOnce = 16
)

// Answers remembers for seconds what an API server said about callers, and bounds what it is asked: a question that is
// under way is not asked again, and so many are under way at once. Clients that ask need no limit of their own. Any
// goroutine may use it.
//
// An accepted answer goes on being accepted while the API server is away, until it ends.
type Answers[A any] struct {
	now              func() time.Time
	count            func(result string) // "accepted", "refused" or "unknown"
	asking           singleflight.Group
	memory           *pastAnswers[A]
	strangers, known chan struct{} // as many as may be under way
}

// AnswerKey names a question: a digest, so that tokens themselves are not kept.
type AnswerKey = [sha256.Size]byte

// NewAnswers makes Answers by a clock (nil: time.Now). count is called for each question that was asked; nil: not.
func NewAnswers[A any](now func() time.Time, count func(result string)) *Answers[A] {
	if now == nil {
		now = time.Now
	}
	if count == nil {
		count = func(string) {}
	}
	return &Answers[A]{now: now, count: count, memory: newPastAnswers[A](), strangers: make(chan struct{}, reviewsAtOnce),
		known: make(chan struct{}, reviewsAtOnce)}
}

// AcceptedAnswer is an answer; Ends is when it can't be true any more, zero: when it is asked about again.
type AcceptedAnswer[A any] struct {
	Value A
	Ends  time.Time
}

// Ask answers a question by what is remembered, or by asking. ask is called with a context that outlives who came first
// with the question; its error is of ErrRefused, or says what kept the API server from answering.
func (a *Answers[A]) Ask(
	ctx context.Context, key AnswerKey, ask func(context.Context) (AcceptedAnswer[A], error),
) (none A, err error) {
	known, fresh := a.lookUp(key)
	if fresh {
		return known.value, known.err
	}
	// The first one that asks may give up first: the question is not theirs alone.
	result := a.asking.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		known, fresh := a.lookUp(key)
		if !fresh { // nobody else has just asked
			known = a.askServer(ctx, key, known, ask)
		}
		return known, nil
	})
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case r := <-result:
		now := r.Val.(answer[A])
		return now.value, now.err
	}
}

// lookUp finds the last answer to a question, and whether it need not be asked again.
func (a *Answers[A]) lookUp(key AnswerKey) (known answer[A], fresh bool) {
	now := a.now()
	known = a.memory.get(key, now)
	return known, now.Before(known.until)
}

// askServer asks, and remembers the answer. Without one, what was accepted before still is.
func (a *Answers[A]) askServer(
	ctx context.Context, key AnswerKey, known answer[A], ask func(context.Context) (AcceptedAnswer[A], error),
) answer[A] {
	slots := a.strangers
	if known.accepted {
		slots = a.known
	}
	var said AcceptedAnswer[A]
	err := withSlot(ctx, slots, func() (err error) {
		said, err = ask(ctx)
		return err
	})
	now := a.now()
	switch {
	case err == nil:
		a.count("accepted")
		known = answer[A]{accepted: true, value: said.Value, until: earlierTime(now.Add(acceptedFor), said.Ends)}
		if known.ends = said.Ends; known.ends.IsZero() {
			known.ends = known.until
		}
	case errors.Is(err, ErrRefused):
		a.count("refused")
		known = answer[A]{err: err, until: now.Add(refusedFor), ends: now.Add(refusedFor)}
	case known.accepted && !known.hasEnded(now):
		a.count("unknown")
		known.until = earlierTime(now.Add(unknownFor), known.ends)
	default:
		a.count("unknown")
		return answer[A]{err: err}
	}
	a.memory.put(key, known, now)
	return known
}

// withSlot does something when one of some slots is free.
func withSlot(ctx context.Context, slots chan struct{}, do func() error) error {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return do()
	case <-ctx.Done():
		return fmt.Errorf("%d others are reviewed: %w", cap(slots), context.Cause(ctx))
	}
}

// earlierTime is the earlier of two times; a zero time is never.
func earlierTime(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

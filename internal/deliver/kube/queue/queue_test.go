package queue

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type name string

func (n name) String() string { return string(n) }

// run runs a queue until the end of the test, and returns its log.
func run(
	t *testing.T, workers int, do func(context.Context, name) (time.Duration, error),
) (*Queue[name], *bytes.Buffer) {
	log := &bytes.Buffer{}
	q := New(Config[name]{Do: do, Workers: workers, Subject: "a thing", Log: slog.New(slog.NewTextHandler(log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		q.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	return q, log
}

// TestRetries: what fails is called again after longer and longer pauses, and is logged when it begins, when the error
// is another one, and when it is over. A key that was renewed is called at once, and its pauses are short again.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failure atomic.Pointer[error]
		fail := func(err error) { failure.Store(&err) }
		fail(errors.New("no rights"))
		var mu sync.Mutex
		var all []time.Duration
		start := time.Now()
		q, log := run(t, 1, func(context.Context, name) (time.Duration, error) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, time.Since(start))
			return 0, *failure.Load()
		})
		called := func() []time.Duration {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(all)
		}
		q.Add("a")
		time.Sleep(time.Second)
		calls := called()
		if len(calls) != 4 || calls[3] != 700*time.Millisecond || q.CountFailing() != 1 || q.Retries("a") != 4 {
			t.Errorf("calls at %v, %d failing, %d retries", calls, q.CountFailing(), q.Retries("a"))
		}
		q.Renew("a")
		time.Sleep(150 * time.Millisecond)
		calls = called()
		if len(calls) != 6 || calls[4] != time.Second || calls[5] != 1100*time.Millisecond {
			t.Errorf("renewed after a second: calls at %v", calls)
		}
		fail(errors.New("no room"))
		time.Sleep(time.Minute)
		synctest.Wait()
		fail(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if q.CountFailing() != 0 || q.Retries("a") != 0 {
			t.Errorf("after it succeeded: %d failing, %d retries", q.CountFailing(), q.Retries("a"))
		}
		for _, line := range []string{"no rights", "no room", "succeeded after failures"} {
			if strings.Count(log.String(), line) != 1 {
				t.Errorf("%q is not in the log, or more than once:\n%s", line, log)
			}
		}
	})
}

// TestAgain: a call tells when to make the next one.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		q, _ := run(t, 1, func(context.Context, name) (time.Duration, error) {
			calls++
			return time.Minute, nil
		})
		q.Add("a")
		time.Sleep(10*time.Minute + time.Second)
		synctest.Wait()
		if calls != 11 {
			t.Errorf("%d calls in ten minutes, want 11", calls)
		}
	})
}

// TestOneAtATime: a key that is queued while it is worked on is called once more afterwards, other keys meanwhile.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, calls atomic.Int32
		other := make(chan struct{})
		q, _ := run(t, 4, func(_ context.Context, key name) (time.Duration, error) {
			if key == "other" {
				close(other)
				return 0, nil
			}
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			calls.Add(1)
			<-other
			return 0, nil
		})
		q.Add("a")
		synctest.Wait()
		q.Add("a")
		q.Add("a")
		synctest.Wait()
		if calls.Load() != 1 {
			t.Errorf("%d calls before the first has ended", calls.Load())
		}
		q.Add("other")
		synctest.Wait()
		if calls.Load() != 2 || most.Load() != 1 {
			t.Errorf("%d calls, %d at a time; want 2, 1", calls.Load(), most.Load())
		}
	})
}

// TestContained: a call that panics or hangs concerns one key, and is made again.
func TestContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics, hangs, healthy := 0, 0, 0
		q, log := run(t, 3, func(ctx context.Context, key name) (time.Duration, error) {
			switch key {
			case "panics":
				if panics++; panics == 1 {
					panic("a bug")
				}
			case "hangs":
				if hangs++; hangs == 1 {
					<-ctx.Done()
					return 0, ctx.Err()
				}
			default:
				healthy++
			}
			return 0, nil
		})
		for _, key := range []name{"panics", "hangs", "healthy"} {
			q.Add(key)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if panics != 2 || hangs != 2 || healthy != 1 || q.CountFailing() != 0 {
			t.Errorf("calls: %d, %d, %d; failing: %d", panics, hangs, healthy, q.CountFailing())
		}
		if !strings.Contains(log.String(), "queue_test.go") {
			t.Errorf("the log does not show where it panicked:\n%s", log)
		}
	})
}

package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// maxDrafts is how many drafts share a transaction at most.
const maxDrafts = 100

// committer has drafts that wait at the same time share one transaction: a commit costs one write to the disk, however
// many changes it has. One goroutine runs these transactions.
type committer struct {
	store *Store
	wake  chan struct{} // has room for one
	done  chan struct{}

	mu      sync.Mutex
	queue   []*queuedDraft
	stopped bool
}

// queuedDraft is a draft that waits for its transaction.
type queuedDraft struct {
	preparedDraft
	taken  atomic.Bool       // by the committer, or by its caller, who gives up
	answer chan commitResult // has room for one
}

type commitResult struct {
	change ledger.Change
	err    error
}

func newCommitter(s *Store) *committer {
	c := &committer{store: s, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go c.run()
	return c
}

// commitDraft has a draft committed, and waits for that. If ctx ends before its transaction begins, nothing is written.
func (c *committer) commitDraft(ctx context.Context, p preparedDraft) (ledger.Change, error) {
	w := &queuedDraft{preparedDraft: p, answer: make(chan commitResult, 1)}
	c.mu.Lock()
	if c.stopped {
		c.mu.Unlock()
		return ledger.Change{}, errClosed()
	}
	c.queue = append(c.queue, w)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // it is awake
	}
	select {
	case a := <-w.answer:
		return a.change, a.err
	case <-ctx.Done():
		if w.taken.CompareAndSwap(false, true) {
			return ledger.Change{}, ctx.Err()
		}
	}
	// Its transaction runs. It ends within a minute, and its caller wants to know what became of it.
	a := <-w.answer
	return a.change, a.err
}

func errClosed() error {
	return &ledger.Error{Code: ledger.Unavailable, Message: "the ledger is being closed", Fix: "try again"}
}

// stop refuses what waits, and ends the goroutine when its transaction is over.
func (c *committer) stop() {
	c.mu.Lock()
	stopped := c.stopped
	c.stopped = true
	c.mu.Unlock()
	if !stopped {
		close(c.wake)
	}
	<-c.done
}

// A process that commits without a pause would keep others from a file for ever: they ask for its lock every 100 ms at
// most, and SQLite has no queue. So it pauses a little, every second.
const (
	busyFor  = time.Second
	yieldFor = 30 * time.Millisecond
)

func (c *committer) run() {
	defer close(c.done)
	var since, last time.Time // the file was free for others before since, and is since last
	for range c.wake {
		for list := c.takeDrafts(); len(list) > 0; list = c.takeDrafts() {
			if c.store.dialect.name == "sqlite3" {
				switch now := time.Now(); {
				case now.Sub(last) > yieldFor:
					since = now
				case now.Sub(since) > busyFor:
					pause(c.store.closing, yieldFor)
					since = time.Now()
				}
			}
			c.store.commitAll(list)
			last = time.Now()
		}
	}
}

// takeDrafts takes the drafts of one transaction off the queue.
func (c *committer) takeDrafts() (list []*queuedDraft) {
	c.mu.Lock()
	defer c.mu.Unlock()
	edits, bytes := 0, 0
	for len(c.queue) > 0 {
		w := c.queue[0]
		edits, bytes = edits+len(w.edits), bytes+w.bytes
		if len(list) > 0 && (len(list) == maxDrafts || edits > ledger.MaxEdits || bytes > ledger.MaxBytes) {
			break
		}
		c.queue[0], c.queue = nil, c.queue[1:]
		if !w.taken.CompareAndSwap(false, true) {
			continue // its caller gave up
		}
		if c.stopped {
			w.answer <- commitResult{err: errClosed()}
			continue
		}
		list = append(list, w)
	}
	return list
}

// commitAll commits drafts, and answers each.
func (s *Store) commitAll(list []*queuedDraft) {
	drafts := make([]preparedDraft, len(list))
	for i, w := range list {
		drafts[i] = w.preparedDraft
	}
	b, err := s.commitBatch(drafts)
	if err != nil && len(list) > 1 && ledger.CodeOf(err) == "" {
		// The database refuses something in one of them. The others are not to suffer from it.
		for _, w := range list {
			s.commitAll([]*queuedDraft{w})
		}
		return
	}
	for i, w := range list {
		a := commitResult{err: err}
		if err == nil {
			a = b.answers[i]
		}
		w.answer <- a
	}
}

// commitBatch commits drafts in one transaction. If the connection ends with COMMIT, it finds out what became of it:
// the row of head is locked until the server is done with that transaction, and then its changes are there or not.
func (s *Store) commitBatch(drafts []preparedDraft) (*batch, error) {
	ctx := context.Background()
	b := &batch{store: s, drafts: drafts}
	err := s.runWrite(ctx, b.resolveDrafts)
	if errors.Is(err, errUnknown) {
		kept, unknown := b.wasKept(ctx)
		switch {
		case unknown != nil:
			return b, &ledger.Error{Code: ledger.Unavailable, Cause: err,
				Message: "the connection to the database ended: it is not known whether the change was kept",
				Fix:     "look at the newest changes; a repeated request with the same key makes it once"}
		case kept:
			err = nil
		}
	}
	if err == nil && b.hasWrites() {
		hitFailpoint("before-answer")
		s.notifyCommitted()
	}
	return b, err
}

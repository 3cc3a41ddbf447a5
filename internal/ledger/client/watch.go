package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// A lost connection is made again, at first after watchFirst, then in doubled steps up to watchMost. A server that does
// not answer for giveUpAfter ends the watch. A connection over which nothing comes for silence, not even a comment, is
// lost.
const (
	watchFirst     = 100 * time.Millisecond
	watchMost      = 5 * time.Second
	giveUpAfter    = time.Minute
	silenceTimeout = 45 * time.Second
	eventBytes     = 64 << 20 // of one event
)

// Watch implements ledger.Reader. It goes on after the last change that it yielded when a connection is lost. If the
// first connection can't be made, it yields that error.
func (c *Client) Watch(ctx context.Context, from int64) iter.Seq2[ledger.Change, error] {
	return func(yield func(ledger.Change, error) bool) {
		at, since, wait := watchPosition{last: from}, time.Time{}, watchFirst
		for {
			stop, connected, err := c.followStream(ctx, &at, yield)
			if stop || ctx.Err() != nil {
				return
			}
			if connected {
				since, wait = time.Now(), watchFirst
			}
			code := ledger.CodeOf(err)
			if code != ledger.Unavailable && code != ledger.TooMany || since.IsZero() || time.Since(since) > giveUpAfter {
				yield(ledger.Change{}, err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
				wait = min(2*wait, watchMost)
			}
		}
	}
}

// watchPosition is where a watch is.
type watchPosition struct {
	last  int64  // the change that was yielded last
	epoch string // of the ledger, so that one that was restored is noticed; "": not known yet
}

// followStream yields what comes over one connection. stop: the caller wants no more. The error says why the connection
// ended: it always ends.
func (c *Client) followStream(ctx context.Context, at *watchPosition, yield func(ledger.Change, error) bool) (stop,
	connected bool,
	err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := getRequest("watch").withQuery("epoch", at.epoch)
	r.header = http.Header{"Accept": {"text/event-stream"}, "Last-Event-Id": {fmt.Sprint(at.last)}}
	answer, err := c.sendOnce(ctx, r)
	if err != nil {
		return false, false, err
	}
	defer answer.Body.Close()
	at.epoch = answer.Header.Get(wire.EpochHeader)
	quiet := time.AfterFunc(silenceTimeout, cancel)
	defer quiet.Stop()
	lines := bufio.NewReader(answer.Body)
	var event, data string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return false, true, lostConnectionError(err)
		}
		quiet.Reset(silenceTimeout)
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line != "" && field == "event":
			event = value
		case line != "" && field == "data":
			data += value
		case line == "" && event == "error":
			var p wire.Problem
			if json.Unmarshal([]byte(data), &p) != nil || p.Status == 0 {
				return false, true, lostConnectionError(io.ErrUnexpectedEOF)
			}
			return false, true, p.ToLedger()
		case line == "" && event == "change":
			var seen ledger.Change
			if err := json.Unmarshal([]byte(data), &seen); err != nil {
				return false, true, lostConnectionError(err)
			}
			event, data = "", ""
			if seen.Number <= at.last {
				continue // it was yielded
			}
			at.last = seen.Number
			if !yield(seen, nil) {
				return true, true, nil
			}
		}
	}
}

func lostConnectionError(err error) error {
	return &ledger.Error{Code: ledger.Unavailable, Message: "the connection to the ledger was lost: " + err.Error(),
		Cause: err}
}

package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// A stream of changes sends a comment every heartbeat, so that both sides notice a dead connection, unless Config says
// otherwise. A client that does not read for writeTimeout is given up.
const (
	heartbeat    = 15 * time.Second
	writeTimeout = 30 * time.Second
)

func registerWatch(s *server, api huma.API) {
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/watch", Summary: "Watch changes",
		Description: "Server-sent events: each change after from, once and in order. The id of an event is the change's " +
			"number; a client that reconnects with Last-Event-ID misses none. An event \"error\" is a problem, and the last.",
		Responses: map[string]*huma.Response{"200": {Description: "Changes",
			Content: map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}}},
	}, s.watchChanges)
}

// watchEntry is what a ledger's Watch yields.
type watchEntry struct {
	change ledger.Change
	err    error
}

func (s *server) watchChanges(ctx context.Context, in *struct {
	From int64  `query:"from" minimum:"0" doc:"Changes after this one; 0: all that are kept"`
	Last string `header:"Last-Event-ID" doc:"In place of from, for a client that reconnects"`
	// A client that reconnects to a ledger that was restored meanwhile would take other changes for those that it missed.
	Epoch string `query:"epoch" doc:"The header Cardea-Epoch of the answer before: another one is refused (409)"`
}) (*huma.StreamResponse, error) {
	from := in.From
	if in.Last != "" {
		var err error
		if from, err = strconv.ParseInt(in.Last, 10, 64); err != nil || from < 0 {
			return nil, &ledger.Error{Code: ledger.Invalid, Field: "Last-Event-ID", Message: "is no number of a change",
				Fix: "send the id of the last event"}
		}
	}
	now, err := s.Ledger.Head(ctx)
	if err != nil {
		return nil, err
	}
	if in.Epoch != "" && in.Epoch != now.Epoch {
		return nil, &ledger.Error{Code: ledger.Conflict, Fix: "read everything again",
			Message: "the ledger was restored: its numbers mean other changes now"}
	}
	end, err := s.acquireSlot(ctx, Watches)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := func() {
		cancel()
		end()
	}
	entries := make(chan watchEntry)
	go func() {
		defer close(entries)
		for c, err := range s.Ledger.Watch(ctx, from) {
			select {
			case entries <- watchEntry{c, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	var first []watchEntry
	if from != now.Change { // there is something to yield at once: a change, or why there can't be one
		e, ok := <-entries
		if e.err != nil || !ok {
			stop()
			return nil, e.err
		}
		first = append(first, e)
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		defer func() {
			stop()
			for range entries { // until the goroutine ended
			}
		}()
		r, w := humago.Unwrap(h)
		w.Header().Set(wire.EpochHeader, now.Epoch)
		s.writeStream(ctx, r, w, first, entries)
	}}, nil
}

// writeStream writes events until the client or the watch ends.
func (s *server) writeStream(ctx context.Context, r *http.Request, w http.ResponseWriter, first []watchEntry,
	entries <-chan watchEntry) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // proxies in between shall not collect events
	control := http.NewResponseController(w)
	send := func(text string) bool {
		control.SetWriteDeadline(time.Now().Add(writeTimeout)) // where the connection can't, the server's own one counts
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if !send(": watching\n\n") {
		return
	}
	for _, e := range first {
		text, last := s.formatEvent(ctx, e)
		if !send(text) || last {
			return
		}
	}
	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			// A stream may last for months: a token that was taken back ends it.
			if _, err := s.Callers.IdentifyCaller(r); ledger.CodeOf(err) == ledger.Unknown {
				text, _ := s.formatEvent(ctx, watchEntry{err: err})
				send(text)
				return
			}
			if !send(": still here\n\n") {
				return
			}
		case e, ok := <-entries:
			if !ok {
				return
			}
			if text, last := s.formatEvent(ctx, e); !send(text) || last {
				return
			}
		}
	}
}

// formatEvent is a change as a server-sent event, or the error that ends the stream.
func (s *server) formatEvent(ctx context.Context, e watchEntry) (text string, last bool) {
	seen, err := s.showChange(ctx, e.change)
	if e.err != nil {
		err = e.err
	}
	name, body := "change", any(seen)
	if err != nil {
		name, body = "error", s.problemFor(ctx, err)
	}
	data, err := json.Marshal(body)
	if err != nil {
		name, data = "error", []byte(`{"title": "Internal Server Error", "status": 500, "detail": "the server failed"}`)
	}
	if name == "error" {
		return fmt.Sprintf("event: error\ndata: %s\n\n", data), true
	}
	return fmt.Sprintf("id: %d\nevent: change\ndata: %s\n\n", e.change.Number, data), false
}

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Reads are tried a few times, as long as the server can't be reached, or says that it can't answer now, or has too
// many requests of the caller. Writes never
// are: whether they were done is not known, and only a caller with an Idempotency-Key may ask again.
const (
	maxTries       = 4
	firstWait      = 50 * time.Millisecond // doubled for each further try
	maxAnswerBytes = 256 << 20             // bytes of an answer
)

// request is a request to be made.
type request struct {
	method     string
	path       []string // below the base; each is escaped
	query      url.Values
	header     http.Header
	body       any  // nil: none
	repeatable bool // it may be repeated
}

func getRequest(path ...string) request {
	return request{method: http.MethodGet, path: path, repeatable: true}
}

func postRequest(body any, path ...string) request {
	return request{method: http.MethodPost, path: path, body: body}
}

func putRequest(body any, path ...string) request {
	return request{method: http.MethodPut, path: path, body: body}
}

func deleteRequest(path ...string) request { return request{method: http.MethodDelete, path: path} }

// doRequest makes a request, and decodes the answer into out unless that is nil.
func (c *Client) doRequest(ctx context.Context, r request, out any) error {
	var err error
	for try, wait := 1, firstWait; ; try, wait = try+1, 2*wait {
		var answer *http.Response
		if answer, err = c.sendOnce(ctx, r); err == nil {
			defer answer.Body.Close()
			return decodeAnswer(answer, out)
		}
		if code := ledger.CodeOf(err); !r.repeatable || code != ledger.Unavailable && code != ledger.TooMany ||
			try == maxTries {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// checkPath refuses a path with an empty name: it would be another path.
func (r request) checkPath() error {
	if !slices.Contains(r.path, "") {
		return nil
	}
	return &ledger.Error{Code: ledger.Invalid, Field: "name", Message: "is empty", Fix: "state a name"}
}

// sendOnce makes a request once. An answer that is an error is returned as one.
func (c *Client) sendOnce(ctx context.Context, r request) (*http.Response, error) {
	if err := r.checkPath(); err != nil {
		return nil, err
	}
	var body io.Reader
	if r.body != nil {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(r.body); err != nil {
			return nil, &ledger.Error{Code: ledger.Invalid, Message: "is not JSON: " + err.Error(), Cause: err}
		}
		body = &b
	}
	to := c.base.JoinPath(escapePath(r.path)...)
	to.RawQuery = r.query.Encode()
	q, err := http.NewRequestWithContext(ctx, r.method, to.String(), body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		q.Header[name] = values
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if c.config.Via != "" {
		q.Header.Set("User-Agent", c.config.Via)
	}
	token, err := c.readToken()
	if err != nil {
		return nil, err
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.http.Do(q)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, c.unreachableError(err)
	}
	if answer.StatusCode/100 != 2 {
		defer answer.Body.Close()
		return nil, c.readProblem(answer)
	}
	return answer, nil
}

func escapePath(path []string) []string {
	list := make([]string, 0, len(path))
	for _, part := range path {
		list = append(list, url.PathEscape(part))
	}
	return list
}

// readProblem is the error that an answer is.
func (c *Client) readProblem(answer *http.Response) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswerBytes))
	var p wire.Problem
	if kind == wire.ProblemType && err == nil && json.Unmarshal(text, &p) == nil && p.Status != 0 {
		if p.Code == ledger.Unknown {
			p.Fix = "state a token of this ledger with " + c.config.TokenFlag
		}
		e := p.ToLedger()
		e.Cause = &p
		return e
	}
	e := &ledger.Error{Code: ledger.Invalid, Object: "ledger " + c.config.URL,
		Message: fmt.Sprintf("answers %s, which no ledger answers", answer.Status),
		Fix:     "check that " + c.config.URLFlag + " is the address of `cardea ledger serve`"}
	if answer.StatusCode >= http.StatusInternalServerError {
		e.Code = ledger.Unavailable
	}
	return e
}

func decodeAnswer(answer *http.Response, out any) error {
	if out == nil || answer.StatusCode == http.StatusNoContent {
		io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswerBytes)) // so that the connection is used again
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxAnswerBytes)).Decode(out); err != nil {
		return &ledger.Error{Code: ledger.Unavailable, Message: "the ledger's answer broke off: " + err.Error(), Cause: err}
	}
	return nil
}

// withQuery adds a query parameter unless its value is a zero.
func (r request) withQuery(name string, value any) request {
	text := fmt.Sprint(value)
	if text == "" || text == "0" || text == "false" {
		return r
	}
	if r.query == nil {
		r.query = url.Values{}
	}
	r.query.Set(name, text)
	return r
}

// withIdempotencyKey adds an Idempotency-Key.
func (r request) withIdempotencyKey(key string) request {
	if key != "" {
		r.header = http.Header{"Idempotency-Key": {key}}
	}
	return r
}

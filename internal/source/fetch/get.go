package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

const (
	// requestTimeout bounds a whole request, with its redirects.
	requestTimeout = 10 * time.Second
	// maxSize bounds a document, in bytes.
	maxSize = 1 << 20
	// maxRedirects bounds how often an answer may lead elsewhere.
	maxRedirects = 5
)

// errMissing says that a server has no such document.
var errMissing = errors.New("the server has no such document (404)")

// answer is what a server said.
type answer struct {
	content, etag string
	notModified   bool // what was fetched with this ETag is still what there is
}

// requestDocument asks for a document once.
func (f *Fetcher) requestDocument(
	ctx context.Context, key model.FetchKey, want model.FetchSpec, etag string,
) (got answer, err error) {
	client, err := f.newClient(key, want)
	if err != nil {
		return got, err
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, key.URL, nil)
	if err != nil {
		return got, errors.New("it is not a URL")
	}
	request.Header.Set("Accept", "application/json, */*;q=0.5")
	request.Header.Set("User-Agent", "cardea")
	if etag != "" {
		request.Header.Set("If-None-Match", etag)
	}
	response, err := client.Do(request)
	if err != nil {
		return got, describeFailure(err)
	}
	defer response.Body.Close()
	switch code := response.StatusCode; {
	case code == http.StatusNotModified && etag != "":
		return answer{notModified: true}, nil
	case code == http.StatusNotFound || code == http.StatusGone:
		return got, errMissing
	case code != http.StatusOK:
		return got, fmt.Errorf("the server answers %d", code)
	}
	return readBody(response, key.RequiredMember)
}

// readBody reads a document.
func readBody(response *http.Response, member string) (got answer, err error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxSize+1))
	switch {
	case err != nil:
		return got, describeFailure(err)
	case len(body) > maxSize:
		return got, fmt.Errorf("it has more than %d bytes", maxSize)
	}
	if member != "" {
		if err := checkMember(body, member); err != nil {
			kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
			return got, fmt.Errorf("the server answers with %s that can't be used: %w", nameMediaType(kind), err)
		}
	}
	return answer{content: string(body), etag: response.Header.Get("ETag")}, nil
}

// nameMediaType is a media type, if it is one that is often met; others are not repeated.
func nameMediaType(kind string) string {
	switch kind {
	case "text/html", "text/plain", "application/json", "application/jwk-set+json":
		return kind
	}
	return "something"
}

// checkMember tells why a document is not a JSON object with a member that is not empty.
func checkMember(body []byte, member string) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return errors.New("it is not a JSON object")
	}
	switch strings.Join(strings.Fields(string(object[member])), "") {
	case "", "null", "[]", "{}", `""`:
		return fmt.Errorf("%q is not in it, or is empty", member)
	}
	return nil
}

// redirectPolicy follows an answer elsewhere, but not from https to http and, through a backend, not to another host.
func redirectPolicy(key model.FetchKey) func(*http.Request, []*http.Request) error {
	through := key.Through != (model.BackendKey{})
	return func(to *http.Request, via []*http.Request) error {
		from := via[len(via)-1].URL
		switch {
		case len(via) > maxRedirects:
			return refusalError(fmt.Sprintf("it was redirected more than %d times", maxRedirects))
		case to.URL.Scheme != "https" && to.URL.Scheme != "http":
			return refusalError("it is redirected to a URL that is neither http nor https")
		case from.Scheme == "https" && to.URL.Scheme != "https":
			return refusalError("it is redirected from https to http")
		case through && !sameOrigin(from, to.URL):
			return refusalError("it is redirected to another host, but it is fetched through a backend")
		}
		to.Header.Del("Referer")
		return nil
	}
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Host, b.Host)
}

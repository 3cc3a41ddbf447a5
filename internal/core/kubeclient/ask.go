package kubeclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// startOf is the resource version that a watch is to begin at; false: the request is none, or begins with what there
// is.
func startOf(request *http.Request) (uint64, bool) {
	query := request.URL.Query()
	is, err := strconv.ParseBool(query.Get("watch"))
	if request.Method != http.MethodGet || err != nil || !is {
		return 0, false
	}
	from, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	return from, err == nil && from > 0
}

var namespaced = regexp.MustCompile(`/namespaces/[^/]+/`)

// resourceOf is the path of a resource in all namespaces. Resources may have stores of their own, namespaces may not.
func resourceOf(path string) string { return namespaced.ReplaceAllLiteralString(path, "/") }

// answer is what an API server said about its newest version.
type answer struct {
	revision
	known  bool
	err    error
	status int
	header http.Header
	body   []byte
}

// isUnavailable says whether the API server could not answer; then a watch is to be tried later. A client that may not
// list, or asks for what is not there, learns that from the watch itself.
func (a answer) isUnavailable() bool {
	return a.err != nil || a.status == http.StatusTooManyRequests || a.status >= http.StatusInternalServerError
}

// toResponse is the answer as that to a watch.
func (a answer) toResponse(request *http.Request) *http.Response {
	if a.err != nil {
		return nil
	}
	return newResponse(request, a.status, a.header.Clone(), a.body)
}

// onlyMetadata asks for as little of an object as there is.
const onlyMetadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"

// askNewest asks for the newest version of what a request would watch. The list has no resource version, so it is
// answered from the store, or from what is known to be as new.
func (t transport) askNewest(watch *http.Request) (a answer) {
	ctx, cancel := context.WithTimeout(watch.Context(), listTimeout)
	defer cancel()
	request := watch.Clone(ctx)
	query := request.URL.Query()
	for _, name := range []string{"watch", "resourceVersion", "resourceVersionMatch", "sendInitialEvents",
		"allowWatchBookmarks", "timeoutSeconds", "labelSelector"} {
		query.Del(name)
	}
	query.Set("limit", "1")
	request.URL.RawQuery = query.Encode()
	request.Header.Set("Accept", onlyMetadata)
	a.asked = time.Now()
	response, err := t.RoundTripper.RoundTrip(request)
	if err != nil {
		a.err = err
		return a
	}
	defer response.Body.Close()
	a.status, a.header = response.StatusCode, response.Header
	if a.body, a.err = io.ReadAll(response.Body); a.err != nil || a.status != http.StatusOK {
		return a
	}
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(a.body, &list); err == nil {
		a.number, err = strconv.ParseUint(list.Metadata.ResourceVersion, 10, 64)
		a.known = err == nil
	}
	return a
}

// newExpiredResponse is the answer that has a client list again.
func newExpiredResponse(request *http.Request, from, newest uint64) *http.Response {
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Status", "metadata": map[string]any{}, "status": "Failure",
		"reason": "Expired", "code": http.StatusGone,
		"message": fmt.Sprintf("resource version %d is newer than the newest of the API server's store (%d): the store "+
			"was restored to an older state", from, newest),
	})
	if err != nil {
		panic(fmt.Sprintf("watches: %v", err))
	}
	return newResponse(request, http.StatusGone, http.Header{"Content-Type": {"application/json"}}, body)
}

func newResponse(request *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}
}

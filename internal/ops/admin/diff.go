package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/ops/diff"
)

// Differ computes what edits would change. Its method is called by many goroutines.
type Differ interface {
	Diff(diff.Edit) (diff.Report, error)
}

const (
	maxEdit     = 64 << 20         // bytes of one request: some 50,000 objects
	editTimeout = 30 * time.Second // how long the request may take to arrive
)

// isQuestion reports whether a request that is not a GET only reads: an edit or a body is too long for a URL. It must
// have the content type JSON: a browser sends that for another site's page only after a preflight request, which fails
// here.
func isQuestion(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	reads := r.URL.Path == "/diff" || r.URL.Path == "/explain"
	return r.Method == http.MethodPost && reads && err == nil && kind == "application/json"
}

// answerDiff answers POST /diff, a diff.Edit, with a diff.Report. It answers one request at a time, since each may be
// long.
func (s *Server) answerDiff(w http.ResponseWriter, r *http.Request) {
	if !isQuestion(r) {
		w.Header().Set("Allow", http.MethodPost)
		writeFailure(w, http.StatusMethodNotAllowed, "POST the objects to compare, as application/json: `cardea diff` does")
		return
	}
	leave := s.diffLimiter.acquireSlot(r.Context())
	if leave == nil {
		return
	}
	defer leave()
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(editTimeout)); err != nil {
		writeFailure(w, http.StatusInternalServerError, err.Error())
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEdit))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		writeFailure(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the objects have more than %d MiB", maxEdit>>20))
		return
	}
	var edit diff.Edit
	if err == nil {
		edit, err = readEdit(text)
	}
	if err != nil {
		writeFailure(w, http.StatusBadRequest, err.Error())
		return
	}
	report, err := s.config.Diff(edit)
	switch {
	case errors.Is(err, diff.ErrBadObject):
		writeFailure(w, http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, flow.ErrNotSynced):
		writeFailure(w, http.StatusServiceUnavailable,
			"the objects have not been read yet; ask again when /readyz answers 200")
	case err != nil:
		writeFailure(w, http.StatusInternalServerError, err.Error())
	default:
		writeJSON(w, report)
	}
}

// readEdit reads an edit. Only in maps do integers stay integers.
func readEdit(text []byte) (edit diff.Edit, err error) {
	var fields map[string]any
	if err := utiljson.Unmarshal(text, &fields); err != nil {
		return edit, err
	}
	for name, value := range fields {
		ok := false
		switch name {
		case "prune":
			edit.Prune, ok = value.(bool)
		case "objects":
			edit.Objects, ok = readObjects(value)
		case "remove":
			edit.Remove, ok = readRemovals(value)
		}
		if !ok {
			return edit, fmt.Errorf(`%s: want {"objects": [...], "remove": [{"group", "kind", "namespace", "name"}], `+
				`"prune": true or false}`, name)
		}
	}
	return edit, nil
}

func readObjects(value any) (objects []map[string]any, ok bool) {
	list, ok := value.([]any)
	for _, o := range list {
		object, isObject := o.(map[string]any)
		objects, ok = append(objects, object), ok && isObject
	}
	return objects, ok
}

func readRemovals(value any) (list []diff.Removal, ok bool) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(&list) != nil {
		return nil, false
	}
	return list, !slices.ContainsFunc(list, func(r diff.Removal) bool { return r.Kind == "" || r.Name == "" })
}

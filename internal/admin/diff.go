package admin

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"cardea.dev/cardea/internal/diff"
	"cardea.dev/cardea/internal/flow"
)

// Differ tells what edits would change. Its method is called by many goroutines.
type Differ interface {
	Diff(diff.Edit) (diff.Report, error)
}

const (
	maxEdit     = 64 << 20         // bytes that one question may have: some 50,000 objects
	editArrives = 30 * time.Second // how long it may take to arrive
)

// isQuestion tells whether a request that is not a GET only asks: an edit is too long for a URL. That it says it is
// JSON keeps web pages of others out: a browser asks for leave first, and gets none.
func isQuestion(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return r.Method == http.MethodPost && r.URL.Path == "/diff" && err == nil && kind == "application/json"
}

// diff answers POST /diff with a diff.Edit: a diff.Report. One is answered after the other: each may be long.
func (s *Server) diff(w http.ResponseWriter, r *http.Request) {
	if !isQuestion(r) {
		w.Header().Set("Allow", http.MethodPost)
		fail(w, http.StatusMethodNotAllowed, "POST the objects to compare, as application/json: `cardea diff` does")
		return
	}
	leave := s.differs.enter(r.Context())
	if leave == nil {
		return
	}
	defer leave()
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(editArrives)); err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEdit))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		fail(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the objects have more than %d MiB", maxEdit>>20))
		return
	}
	var edit diff.Edit
	if err == nil {
		edit, err = readEdit(text)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	report, err := s.config.Diff(edit)
	switch {
	case errors.Is(err, diff.ErrBadObject):
		fail(w, http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, flow.ErrNotSynced):
		fail(w, http.StatusServiceUnavailable, "the objects that there are have not been read yet")
	case err != nil:
		fail(w, http.StatusInternalServerError, err.Error())
	default:
		answer(w, report)
	}
}

// readEdit reads an edit. Integers stay integers only in maps.
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
		}
		if !ok {
			return edit, fmt.Errorf(`%s: want {"objects": [...], "prune": true or false}`, name)
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

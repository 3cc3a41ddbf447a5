package servers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
)

// bearerToken is the bearer token for servers that authenticate requests for metrics.
type bearerToken struct {
	file string // "": none

	value atomic.Pointer[string] // nil: none is known
}

// readFile reads the file. Without one there is no token; if it can't be read, or has none, the token from before
// stays.
func (t *bearerToken) readFile() error {
	if t.file == "" {
		return nil
	}
	text, err := os.ReadFile(t.file)
	if errors.Is(err, fs.ErrNotExist) {
		t.value.Store(nil)
	}
	if err != nil {
		return fmt.Errorf("read the token of metrics: %w", err)
	}
	value := strings.TrimSpace(string(text))
	if value == "" || strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("read the token of metrics: %s must have one word of ASCII", t.file)
	}
	t.value.Store(&value)
	return nil
}

// get is the token; "" if there is none.
func (t *bearerToken) get() string {
	if value := t.value.Load(); value != nil {
		return *value
	}
	return ""
}

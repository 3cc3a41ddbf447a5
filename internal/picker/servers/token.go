package servers

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
)

// token is what servers get that want to know who asks.
type token struct {
	file string // "": none

	value   atomic.Pointer[string]
	problem atomic.Pointer[string] // why it could not be read last; nil: it could
}

// read reads the file. If that fails, the token from before stays.
func (t *token) read() error {
	if t.file == "" {
		return nil
	}
	err := t.load()
	if t.problem.Store(nil); err != nil {
		t.problem.Store(new(err.Error()))
	}
	return err
}

func (t *token) load() error {
	text, err := os.ReadFile(t.file)
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
func (t *token) get() string {
	if value := t.value.Load(); value != nil {
		return *value
	}
	return ""
}

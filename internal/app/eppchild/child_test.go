package eppchild

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSilentPicker: a picker that accepts and says nothing is an error before the deadline of who asks it.
func TestSilentPicker(t *testing.T) {
	t.Parallel()
	r := open(t)
	llama := pool("llama")
	r.want(llama)
	r.run()
	r.serves(llama, 0)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	_, serves, err := r.Metrics(ctx, llama)
	if !serves || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("serves: %v, %v; deadline: %v", serves, err, ctx.Err())
	}
}

// counter counts requests, which fail.
type counter int

func (c *counter) RoundTrip(*http.Request) (*http.Response, error) {
	*c++
	return nil, errors.New("not yet")
}

// TestQuestionsSlowDown: a picker that is slow to serve is asked often for the first second, and then each second.
func TestQuestionsSlowDown(t *testing.T) {
	t.Parallel()
	c := &child{dir: t.TempDir()}
	if err := os.WriteFile(c.addressesFile(), []byte("127.0.0.1:1\n127.0.0.1:2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var asked counter
		for timeout, want := range map[time.Duration]counter{time.Second - 1: 50, time.Minute - 1: 50 + 59} {
			ctx, stop := context.WithTimeout(t.Context(), timeout)
			asked = 0
			if _, _, serves := c.waitServing(ctx, &http.Client{Transport: &asked}); serves || asked != want {
				t.Errorf("asked %d times in %v, want %d; serves: %v", asked, timeout, want, serves)
			}
			stop()
		}
	})
}

// TestTold: what changes before the first start is no error, and a token that can't be written keeps no endpoints from
// a picker.
func TestTold(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	c := &child{dir: filepath.Join(t.TempDir(), "picker")}
	if c.updateFiles(pickerFiles{members: "[1]", token: "one"}, log); said.String() != "" {
		t.Errorf("before the first start it says %q", &said)
	}
	if err := os.MkdirAll(filepath.Join(c.tokenFile(), "stands", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.updateFiles(pickerFiles{members: "[2]", token: "two"}, log)
	if !strings.Contains(said.String(), "token for model servers") {
		t.Errorf("of a token that can't be written it says %q", &said)
	}
	if text, err := os.ReadFile(c.membersFile()); string(text) != "[2]" {
		t.Errorf("members %q, %v", text, err)
	}
}

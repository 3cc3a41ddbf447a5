package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cardea.dev/cardea/examples/calls"
)

// stepTimeout is how long any step may take before it counts as failed.
const stepTimeout = 60 * time.Second

// runCheck runs a copy of the example on free ports, makes its calls, edits it, and checks that everything ends.
func runCheck(ctx context.Context, bin, example, prometheus string) error {
	list, err := calls.ParseFile(filepath.Join(example, "calls.txt"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cardea-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s := setup{bin: bin, dir: filepath.Join(dir, "example")}
	if err := s.freePorts(); err != nil {
		return err
	}
	if err := s.copyExample(example); err != nil {
		return err
	}
	if err := s.watch(prometheus, s.dashboard); err != nil {
		return err
	}

	err = s.run(ctx, func(ctx context.Context) error {
		client := calls.NewClient("127.0.0.1", s.offset)
		defer client.Close()
		for _, call := range list {
			if err := client.Do(ctx, call); err != nil {
				return err
			}
			fmt.Println("ok  ", call.Text)
		}
		if filepath.Base(example) == quickstart {
			return s.liveEdit(ctx, client)
		}
		return s.dashboardShows(ctx)
	})
	if err != nil {
		return err
	}
	return s.nothingAnswers()
}

// liveEdit changes the first rule to the other backend, and back.
func (s setup) liveEdit(ctx context.Context, client *calls.Client) error {
	file := filepath.Join(s.dir, "routes.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after := strings.Replace(string(before), "name: blue", "name: green", 1)
	for _, edit := range []struct{ text, call string }{
		{after, "GET http://quickstart.localhost:8080/ -> 200 green"},
		{string(before), "GET http://quickstart.localhost:8080/ -> 200 blue"},
	} {
		if err := os.WriteFile(file, []byte(edit.text), 0o644); err != nil {
			return err
		}
		list, err := calls.Parse(strings.NewReader(edit.call))
		if err != nil {
			return err
		}
		if err := eventually(ctx, func() error { return client.Do(ctx, list[0]) }); err != nil {
			return fmt.Errorf("after an edit of routes.yaml: %w", err)
		}
		fmt.Println("ok   after an edit of routes.yaml:", edit.call)
	}
	return nil
}

// nothingAnswers checks that no program listens any more.
func (s setup) nothingAnswers() error {
	for _, u := range s.ports() {
		address := fmt.Sprintf("127.0.0.1:%d", u.port)
		if connection, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			connection.Close()
			return fmt.Errorf("the %s still listens on %s after everything was stopped", u.what, address)
		}
	}
	fmt.Println("ok   everything ended")
	return nil
}

// eventually tries again until it succeeds, for stepTimeout at most.
func eventually(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); cause != context.DeadlineExceeded {
				return cause
			}
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/ledger/store"
)

// asWriter names the ledger that this process writes to, if it was started for that.
const asWriter = "CARDEA_BENCH_WRITER"

// writes is the process that commits: for each number that it reads it commits that edit, and answers.
func writes() bool {
	url := os.Getenv(asWriter)
	if url == "" {
		return false
	}
	if err := serveWrites(context.Background(), url); err != nil {
		fmt.Fprintln(os.Stderr, "bench: writer:", err)
		os.Exit(1)
	}
	return true
}

func serveWrites(ctx context.Context, url string) error {
	l, err := store.Open(ctx, store.Config{URL: url})
	if err != nil {
		return err
	}
	defer l.Close()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		i, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		d, err := edited(i)
		if err != nil {
			return err
		}
		if _, err := l.Commit(ctx, d); err != nil {
			return err
		}
		fmt.Println("kept")
	}
	return nil
}

// writer is another process that commits.
type writer struct {
	cmd     *exec.Cmd
	to      io.WriteCloser
	answers *bufio.Reader
}

func (b *bench) writer(url string) (*writer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asWriter+"="+url)
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &writer{cmd, to, bufio.NewReader(from)}, cmd.Start()
}

// write has an edit committed.
func (w *writer) write(i int) error {
	if _, err := fmt.Fprintln(w.to, i); err != nil {
		return err
	}
	answer, err := w.answers.ReadString('\n')
	if answer = strings.TrimSpace(answer); err == nil && answer != "kept" {
		err = errors.New(answer)
	}
	return err
}

func (w *writer) end() error { return errors.Join(w.to.Close(), w.cmd.Wait()) }

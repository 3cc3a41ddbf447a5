package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/jackc/pgx/v5"
)

// channel is where processes tell each other that there are new changes.
const channel = "cardea_ledger"

// notifyCommitted tells who watches, here and in other processes, that there are new changes.
func (s *Store) notifyCommitted() {
	s.hints.sendHint()
	if s.noNotify.Load() {
		return
	}
	if s.dialect.name != "postgres" {
		// Other processes see that. They would see the write to the log, too, but it comes before readers have the change.
		now := time.Now()
		if err := os.Chtimes(s.location+walSuffix, now, now); err != nil {
			s.log.Debug("other processes were not notified of a change", "error", err) // they look by themselves
		}
		return
	}
	select {
	case s.notify <- struct{}{}:
	default: // one is on its way
	}
}

// walSuffix ends the name of SQLite's log.
const walSuffix = "-wal"

// notifyStatement does not wait until its own transaction, which has nothing to keep, is on the disk.
const notifyStatement = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')"

// notifyPause is between two notifications: each takes a lock of the whole server.
const notifyPause = 5 * time.Millisecond

// runNotify sends notifications, apart from the transactions of changes.
func (s *Store) runNotify() {
	for {
		select {
		case <-s.closing.Done():
			return
		case <-s.notify:
		}
		ctx, cancel := context.WithTimeout(s.closing, pollServer)
		_, err := s.writeDB.ExecContext(ctx, notifyStatement, channel)
		cancel()
		if err != nil && s.closing.Err() == nil {
			s.log.Debug("no notification was sent", "error", err) // others look by themselves
		}
		pause(s.closing, notifyPause)
	}
}

// startListening starts who listens for commits of other processes.
func (s *Store) startListening() {
	run := s.listenFile
	if s.dialect.name == "postgres" {
		run = s.listenServer
	}
	s.running.Go(func() { run(s.closing) })
}

// listenServer listens for notifications until ctx ends, and gives a hint after each new connection.
func (s *Store) listenServer(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.listenOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Debug("not listening for changes: looking every few seconds", "error", err)
		}
		pause(ctx, time.Second)
	}
}

func (s *Store) listenOnce(ctx context.Context) error {
	config, err := serverConfig(s.location)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	for {
		s.hints.sendHint()
		wait, cancel := context.WithTimeout(ctx, pollServer)
		_, err := conn.WaitForNotification(wait)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && wait.Err() == nil:
			return err
		case err != nil:
			// Nothing came. A connection that is dead on one side would be silent, too.
			if err := conn.Ping(ctx); err != nil {
				return err
			}
		}
	}
}

// listenFile gives a hint when a process says by the time of the file's log that there are changes, until ctx ends.
func (s *Store) listenFile(ctx context.Context) {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = w.Close() }()
		err = w.Add(filepath.Dir(s.location)) // the log is made anew at times
	}
	if err != nil {
		s.log.Debug("the ledger's folder is not watched: looking every second", "error", err)
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				return
			}
			isReplaced := e.Name == s.location && !e.Has(fsnotify.Write) && !e.Has(fsnotify.Chmod)
			if isReplaced || e.Name == s.location+walSuffix && e.Has(fsnotify.Chmod) {
				s.hints.sendHint()
			}
		case _, ok := <-w.Errors:
			if !ok {
				return
			}
			s.hints.sendHint() // events may have been lost
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

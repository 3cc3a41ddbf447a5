package eppchild

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/process"
)

const (
	stopTimeout   = 12 * time.Second // a picker lets its requests go on for 10 s
	answerTimeout = 2 * time.Second  // for each answer of a picker
	// Whether a picker that was started serves is checked often at first, and then less so.
	eager  = 50 // times
	often  = 20 * time.Millisecond
	seldom = time.Second
)

// child is a picker that runs. The fields from process on are guarded by Children.mu.
type child struct {
	dir string

	filesMu sync.Mutex  // guards told, and its files
	files   pickerFiles // what the picker reads

	process  *process.Process
	stop     context.CancelFunc
	leaving  bool               // it was told to end
	next     *pickerFiles       // what the one reads that follows it when it has ended; nil: none does
	stopWait context.CancelFunc // ends the wait until it serves
	admin    string             // base URL of its admin API; "": it does not serve
}

// pickerFiles is what a picker reads.
type pickerFiles struct {
	members string // its pool, as JSON
	token   string // that its model servers want; "": none is known
}

// folderName is the name of the folder of a pool's picker.
func folderName(pool model.ObjectRef) string {
	sum := sha256.Sum256([]byte(pool.NamespacedName()))
	return "picker-" + hex.EncodeToString(sum[:6])
}

func (c *child) membersFile() string   { return filepath.Join(c.dir, "members.json") }
func (c *child) tokenFile() string     { return filepath.Join(c.dir, "token") }
func (c *child) addressesFile() string { return filepath.Join(c.dir, "addresses") }

// newCommand makes what makes the command of each start.
func (c *child) newCommand(program string, pool model.ObjectRef) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) {
		c.filesMu.Lock()
		defer c.filesMu.Unlock()
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return nil, fmt.Errorf("folder of the picker: %w", err)
		}
		if err := os.Remove(c.addressesFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("addresses of a former picker: %w", err)
		}
		if err := c.writeFiles(); err != nil {
			return nil, err
		}
		return exec.Command(program, "picker", "--members", c.membersFile(), "--listen", "127.0.0.1:0",
			"--admin", "127.0.0.1:0", "--addresses", c.addressesFile(), "--name", pool.Name(),
			"--metrics-token-file", c.tokenFile(), "--metrics-token-later"), nil
	}
}

// updateFiles tells the picker what changed. A file that can't be written is written before the next start.
func (c *child) updateFiles(is pickerFiles, log *slog.Logger) {
	c.filesMu.Lock()
	defer c.filesMu.Unlock()
	if is == c.files {
		return
	}
	c.files = is
	// there is no folder before the first start
	if err := c.writeFiles(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Error("the files of a picker can't be written", "error", err)
	}
}

// writeFiles replaces the files, each at once, and the one if the other can't be. The caller holds filed.
func (c *child) writeFiles() error {
	var failed []error
	if err := replaceFile(c.membersFile(), c.files.members); err != nil {
		failed = append(failed, fmt.Errorf("endpoints of the pool: %w", err))
	}
	if err := replaceFile(c.tokenFile(), c.files.token); err != nil {
		failed = append(failed, fmt.Errorf("token for model servers: %w", err))
	}
	return errors.Join(failed...)
}

// replaceFile writes a file at once; without a text, there is none.
func replaceFile(file, text string) error {
	if text == "" {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	draft := file + ".draft"
	if err := os.WriteFile(draft, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, file)
}

func (c *child) removeFolder(log *slog.Logger) {
	if err := os.RemoveAll(c.dir); err != nil {
		log.Warn("the folder of a stopped picker can't be removed", "error", err)
	}
}

// waitServing waits until a picker that was started serves, and tells where; false if ctx is done before.
func (c *child) waitServing(ctx context.Context, client *http.Client) (at netip.AddrPort, admin string, serves bool) {
	for tries := 1; ; tries++ {
		if text, err := os.ReadFile(c.addressesFile()); err == nil {
			listen, other, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
			at, err = netip.ParseAddrPort(listen)
			if admin = "http://" + other; err == nil {
				_, err = process.FetchPage(ctx, client, admin+"/healthz")
			}
			if err == nil {
				return at, admin, true
			}
		}
		pause := often
		if tries > eager {
			pause = seldom
		}
		select {
		case <-ctx.Done():
			return at, "", false
		case <-time.After(pause):
		}
	}
}

// logLevel is the level that a line of a picker's log has. A line without a level is not from its log: it says why the
// picker ends.
func logLevel(line string) (level slog.Level) {
	_, rest, found := strings.Cut(line, " level=")
	word, _, _ := strings.Cut(rest, " ")
	if !found || level.UnmarshalText([]byte(word)) != nil {
		return slog.LevelWarn
	}
	return level
}

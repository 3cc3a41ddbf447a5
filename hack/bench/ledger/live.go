package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
)

// live measures the way of an edit into an Envoy: by a file of a folder, and by a change of a ledger that another
// process commits. All of these run at the same time, and are edited in turn.
func (b *bench) live() (err error) {
	var ways []*way
	defer func() {
		for _, w := range ways {
			err = errors.Join(err, w.stop())
		}
	}()
	progress("live: %d routes each", b.routes)
	folder, err := b.folder("live", b.routes)
	if err != nil {
		return err
	}
	ways = append(ways, folder)
	for _, d := range b.databases {
		w, err := b.served(d, "live", b.routes)
		if err != nil {
			return err
		}
		ways = append(ways, w)
	}
	for i := range warm + b.edits {
		for _, w := range ways {
			if err := w.once(i, i >= warm); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
		}
	}
	for _, w := range ways {
		more, target := "", ""
		if w != folder {
			later := func(part float64) float64 {
				return table.Milli(quantile(w.acked, part) - quantile(folder.acked, part))
			}
			more = fmt.Sprintf("than by the file p50 %+.1f ms, p99 %+.1f ms; the commit alone %s", later(0.5), later(0.99),
				quantiles(w.written))
			target = "5 ms more than a file"
		}
		row(fmt.Sprintf("%d routes: %s to Envoy's ACK in the status", b.routes, w.name), quantiles(w.acked), more, target)
	}
	return nil
}

// warm is how many edits are made before those that are measured.
const warm = 10

// way is a running cardea, and how its objects are edited.
type way struct {
	name   string
	child  *child.Child
	write  func(i int) error
	end    func() error // ends what writes
	acks   *acks
	url    string
	start  time.Duration // until it was ready
	stores string        // the folder of what it remembers

	written, acked []time.Duration // from before the write
}

func (w *way) stop() error { return errors.Join(w.child.Stop(), w.end()) }

// once makes an edit and waits for its ACK.
func (w *way) once(i int, measured bool) error {
	began := time.Now()
	if err := w.write(i); err != nil {
		return err
	}
	written := time.Since(began)
	if err := w.acks.next(); err != nil {
		return err
	}
	if measured {
		w.written, w.acked = append(w.written, written), append(w.acked, time.Since(began))
	}
	return nil
}

// folder serves a folder of n routes.
func (b *bench) folder(name string, n int) (*way, error) {
	ports, err := child.FreePorts(1)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	if err := scene.Write(dir, n, ports[0]); err != nil {
		return nil, err
	}
	w := &way{name: "file write", url: dir, stores: name, end: func() error { return nil }}
	w.write = func(i int) error {
		return scene.Replace(filepath.Join(dir, "edited.yaml"), scene.Text(0, fmt.Sprintf("edit%d", i)))
	}
	return w, b.standalone(w, dir)
}

// served serves a ledger of n routes.
func (b *bench) served(d *database, name string, n int) (*way, error) {
	ports, err := child.FreePorts(1)
	if err != nil {
		return nil, err
	}
	edits, err := world(n, ports[0])
	if err != nil {
		return nil, err
	}
	url, l, err := b.fresh(d, name, edits)
	if err != nil {
		return nil, err
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	writer, err := b.writer(url)
	if err != nil {
		return nil, err
	}
	w := &way{name: "commit by another process, " + d.name, url: url, stores: name + d.name, write: writer.write,
		end: writer.end}
	return w, b.standalone(w, "--ledger", url, "--ledger-name", "bench")
}

// standalone starts cardea, until it is ready.
func (b *bench) standalone(w *way, args ...string) (err error) {
	args = append([]string{"standalone", "--admin", "127.0.0.1:0", "--bind", "127.0.0.1", "--envoy", b.envoy,
		"--log-format", "json"}, args...)
	cmd := exec.Command(b.cardea, args...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(b.dir, "cache", w.stores))
	began := time.Now()
	if w.child, err = child.Start(cmd, nil); err != nil {
		return errors.Join(err, w.end())
	}
	w.start = time.Since(began)
	w.acks = &acks{child: w.child}
	return w.acks.begin()
}

package standalone

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"cardea.dev/cardea/internal/app/assembly"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/filesync"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
	"cardea.dev/cardea/internal/source/machine"
)

// Run serves a folder or a ledger until ctx is done: it reads and follows it, and keeps one proxy for each Gateway.
// When it returns, every process that it started has ended. The error says what kept it from starting, or what failed.
func Run(ctx context.Context, o Options) (err error) {
	if o.Strict {
		if err := readable(o); err != nil {
			return err
		}
	}
	if o.AccessLog != "" {
		if wrong := machine.Writable(o.AccessLog); wrong != "" {
			return fmt.Errorf("log requests: %s", wrong)
		}
	}
	programs, err := findPrograms(ctx, o)
	if err != nil {
		return err
	}
	dir, remove, err := workDir(o.WorkDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()

	metrics := assembly.NewMetrics()
	o.machine = true
	w := newWorld(o, programs[o.Dialects[0].Name].Version, true)
	o.CacheDir = o.remembering()
	objects, closeSource, err := newSource(ctx, o, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	files := filesync.Folder{Of: func(ref model.ObjectRef) string { return proxyDir(dir, ref) }}
	children := &proxies{
		world: w, programs: programs, socket: filepath.Join(dir, "xds"), dir: dir, files: files, log: o.logger(),
		memory: o.Memory,
	}
	pickers, err := newPickers(o, w, dir)
	if err != nil {
		return err
	}
	metrics.MustRegister(&childMetrics{proxies: children.states, pickers: pickers.States})
	ready := &readiness{world: w, objects: objects, live: children.live}
	findings := func(place where) []admin.Finding {
		return append(children.findings(place), allFindings(objects.Problems(), w.FindingsAt(time.Now()), place)...)
	}
	explains := explained(objects)
	explains.Connections, explains.Picker = children.connections, pickers.Admin
	parts, err := assembly.New(assembly.Config{
		World: w, Log: o.logger(), Metrics: metrics, Identify: identify, Files: files, Sync: o.ConfigMapSync,
		Older:   objects.Older,
		Explain: explains, Diff: diff.Config{Foretold: newClashes(w), Waits: o.Ledger.URL == ""},
		Admin: admin.Config{
			Addr: o.Admin, Access: o.AdminAccess, Probes: o.Probes, Ready: ready.state, OnListen: o.OnAdmin,
			Proxy:    children.metrics,
			Picker:   pickers.Metrics,
			Findings: func() []admin.Finding { return findings(objects.locate()) },
		},
		Counted: func() []admin.Finding { return findings(nowhere) },
	})
	if err != nil {
		return err
	}
	socket, err := newSocket(children.socket, parts.XDS)
	if err != nil {
		return err
	}
	children.reachable = socket.mend
	identities, err := newIdentities(o, metrics)
	if err != nil {
		return err
	}
	journal := &journal{world: w, locate: objects.locate, log: o.logger()}
	return parts.Run(ctx, objects.Run, objects.track(parts.XDS), socket.run, ready.follow, children.run,
		pickers.Run, journal.run, identities, newLooker(w).Run)
}

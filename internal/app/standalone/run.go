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
		if err := checkReadable(o); err != nil {
			return err
		}
	}
	if o.AccessLog != "" {
		if wrong := machine.WriteProblem(o.AccessLog); wrong != "" {
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
	o.CacheDir = o.cacheFolder()
	objects, closeSource, err := newSource(ctx, o, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeSource()) }()
	files := filesync.Folder{Of: func(ref model.ObjectRef) string { return proxyDir(dir, ref) }}
	children := &proxyRunner{
		world: w, programs: programs, socketPath: filepath.Join(dir, "xds"), dir: dir, folders: files, log: o.logOrDiscard(),
		memory: o.Memory,
	}
	pickers, err := newPickers(o, w, dir)
	if err != nil {
		return err
	}
	metrics.MustRegister(&childMetrics{proxyStates: children.processStates, pickerStates: pickers.States})
	ready := &readiness{world: w, source: objects, liveGateways: children.liveGateways}
	findings := func(place locateFunc) []admin.Finding {
		return append(children.proxyFindings(place), allFindings(objects.Problems(), w.FindingsAt(time.Now()), place)...)
	}
	explains := explainConfig(objects)
	explains.Connections, explains.Picker = children.connectionCounts, pickers.AdminURL
	parts, err := assembly.New(assembly.Config{
		World: w, Log: o.logOrDiscard(), Metrics: metrics, Identify: identifyProxy, Files: files, Sync: o.ConfigMapSync,
		Older:   objects.OutdatedObjects,
		Explain: explains, Diff: diff.Config{ExtraFindings: newConflicts(w), Waits: o.Ledger.URL == ""},
		Admin: admin.Config{
			Addr: o.Admin, Access: o.AdminAccess, Probes: o.Probes, Ready: ready.checkReady, OnListen: o.OnAdmin,
			Proxy:    children.proxyMetrics,
			Picker:   pickers.Metrics,
			Findings: func() []admin.Finding { return findings(objects.newLocator()) },
		},
		MetricFindings: func() []admin.Finding { return findings(locateNothing) },
	})
	if err != nil {
		return err
	}
	socket, err := newSocket(children.socketPath, parts.XDS)
	if err != nil {
		return err
	}
	children.reachable = socket.listenAgain
	identities, err := newIdentities(o, metrics)
	if err != nil {
		return err
	}
	journal := &journal{world: w, locate: objects.newLocator, log: o.logOrDiscard()}
	return parts.Run(ctx, objects.Run, objects.trackObjects(parts.XDS), socket.serveSocket, ready.watchReady,
		children.runAll,
		pickers.Run, journal.runLog, identities, newLooker(w).Run)
}

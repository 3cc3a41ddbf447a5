package standalone

import (
	"context"
	"log/slog"
	"maps"
	"os/exec"
	"slices"
	"sync"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/filesync"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/ops/admin"
)

// proxyRunner keeps one proxy for each Gateway of the plan. Its methods but run may be called from any goroutine.
type proxyRunner struct {
	world      *world.World
	programs   map[model.DataPlane]process.Executable
	socketPath string // where the xDS server listens
	dir        string // holds a folder for each proxy
	folders    filesync.Folder
	memory     int64 // that each proxy may take, in bytes; 0: no bound
	// reachable makes sure that a proxy that starts finds the server.
	reachable func() error
	log       *slog.Logger

	running sync.WaitGroup

	mu       sync.Mutex
	list     []wantedProxy
	children map[model.ObjectRef]*child
	waiting  bool // the proxy of some Gateway may not start yet
}

// child is a running proxy.
type child struct {
	dialect dataplane.Dialect
	process *process.Process
	stop    context.CancelFunc
	// stay takes back that it will be stopped, while its Gateway is gone or has another data plane; else nil
	stay context.CancelFunc
	live bool // it reads files, and serves
}

// runAll starts and stops children as ListGateways are added and deleted. When it returns, all have ended.
func (p *proxyRunner) runAll(ctx context.Context) error {
	defer p.running.Wait()
	gateways := flow.Follow(p.world.Plan.Gateways)
	defer gateways.Stop()
	for range p.world.Graph.Watch(ctx) {
		p.mu.Lock()
		changed := p.waiting
		p.world.Graph.View(func(v flow.View) {
			for range gateways.Changes(v) {
				changed = true
			}
			if changed {
				p.list = p.listWanted(v)
			}
		})
		if changed {
			p.keepWanted(ctx)
		}
		p.mu.Unlock()
	}
	return nil
}

// wantedProxy is a Gateway that needs a proxy.
type wantedProxy struct {
	gateway model.ObjectRef
	dialect dataplane.Dialect
	binds   []boundAddress
	live    bool // its proxy has acknowledged a complete configuration, or serves what it reads
	waits   bool // for the first files that its proxy is to read
}

func (p *proxyRunner) listWanted(v flow.View) []wantedProxy {
	binds := map[model.ObjectRef][]boundAddress{}
	for _, b := range bindsOf(v, p.world) {
		binds[b.key.Gateway] = append(binds[b.key.Gateway], b)
	}
	var list []wantedProxy
	for ref, g := range flow.All(v, p.world.Plan.Gateways) {
		w := wantedProxy{gateway: ref, dialect: p.world.Dialect(g.DataPlane), binds: binds[ref]}
		if g.DataPlane.ReadsFiles {
			written, _ := flow.Get(v, p.world.Feedback.Written.Collection(), ref)
			c := p.children[ref]
			w.live, w.waits = c != nil && c.live, written.At.IsZero()
		} else {
			w.live = hasAcknowledged(v, p.world, ref)
		}
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b wantedProxy) int { return a.gateway.Compare(b.gateway) })
	return list
}

// keepWanted makes the proxies of the wanted ListGateways run, and no others. The caller holds mu.
func (p *proxyRunner) keepWanted(ctx context.Context) {
	if p.children == nil {
		p.children = map[model.ObjectRef]*child{}
	}
	for ref, c := range p.children {
		isWanted := slices.ContainsFunc(p.list,
			func(w wantedProxy) bool { return w.gateway == ref && w.dialect.Name == c.dialect.Name })
		switch {
		case isWanted && c.stay != nil:
			c.stay()
			c.stay = nil
		case !isWanted && c.stay == nil:
			p.stopWhenQuiet(ctx, ref, c)
		}
	}
	p.waiting = false
	for _, w := range p.list {
		if p.children[w.gateway] != nil {
			continue
		}
		if w.waits || p.mustWait(w, p.list) {
			p.waiting = true
			continue
		}
		p.startProxy(ctx, w)
	}
}

// mustWait tells whether a proxy that is starting may bind one of these addresses. Two that bind a port at the same
// moment both get it, and a proxy may call the later failure to listen a success (Envoy does); one after the other, the
// second is refused.
func (p *proxyRunner) mustWait(w wantedProxy, list []wantedProxy) bool {
	return slices.ContainsFunc(list, func(o wantedProxy) bool {
		return o.gateway != w.gateway && p.children[o.gateway] != nil && !o.live &&
			slices.ContainsFunc(o.binds, func(b boundAddress) bool { return slices.ContainsFunc(w.binds, b.conflictsWith) })
	})
}

// startProxy runs a Gateway's proxy until it is stopped. The caller holds mu.
func (p *proxyRunner) startProxy(ctx context.Context, w wantedProxy) {
	ref, program := w.gateway, p.programs[w.dialect.Name]
	proxy, err := process.New(process.Config{
		Name:    w.dialect.Child.Program.Name + " " + nodeID(ref),
		Command: func() (*exec.Cmd, error) { return p.proxyCommand(ref, w.dialect.Child, program.Path) },
		Level:   w.dialect.Child.Level,
		Log:     p.log,
	})
	if err != nil {
		p.log.Error("can't start proxy", "gateway", ref, "error", err)
		return
	}
	running, stop := context.WithCancel(ctx)
	c := &child{dialect: w.dialect, process: proxy, stop: stop}
	p.children[ref] = c
	if w.dialect.Files != nil {
		p.running.Go(func() { p.waitServing(running, ref, c) })
	}
	p.running.Go(func() {
		_ = proxy.Run(running)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.children, ref)
		if ctx.Err() == nil { // its Gateway may exist again, or have another data plane
			p.world.Graph.View(func(v flow.View) { p.list = p.listWanted(v) })
			p.keepWanted(ctx)
		}
	})
}

// stopWhenQuiet stops the proxy of a Gateway that is gone, or has another data plane, when the requests in flight are
// answered, unless it is wanted again. The caller holds mu.
func (p *proxyRunner) stopWhenQuiet(ctx context.Context, ref model.ObjectRef, c *child) {
	ctx, stay := context.WithCancel(ctx)
	c.stay = stay
	p.running.Go(func() {
		defer stay()
		waitQuiet(ctx, c.dialect.Child, adminSocket(proxyDir(p.dir, ref)))
		p.mu.Lock()
		defer p.mu.Unlock()
		if ctx.Err() == nil {
			c.stop()
		}
	})
}

// waitServing waits until a proxy that reads files serves.
func (p *proxyRunner) waitServing(ctx context.Context, ref model.ObjectRef, c *child) {
	if !isReady(ctx, c.dialect.Child, adminSocket(proxyDir(p.dir, ref))) {
		return
	}
	p.mu.Lock()
	c.live = true
	p.mu.Unlock()
	p.world.Graph.Apply("proxy serves", func(*flow.Batch) {}) // those that wait for it look again
}

// liveGateways tells which ListGateways have a proxy that reads files, and serves. It must not be called in a View: run
// opens one with mu held.
func (p *proxyRunner) liveGateways() map[model.ObjectRef]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := map[model.ObjectRef]bool{}
	for ref, c := range p.children {
		list[ref] = c.live
	}
	return list
}

// processStates returns the states of the processes of the wanted ListGateways.
func (p *proxyRunner) processStates() map[model.ObjectRef]process.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	states := map[model.ObjectRef]process.State{}
	for ref, c := range p.children {
		if c.stay == nil {
			states[ref] = c.process.State()
		}
	}
	return states
}

// proxyFindings reports proxies that have ended and are not back. A proxy that runs and is not connected yet is not
// back: it may end in the same way.
func (p *proxyRunner) proxyFindings(place locateFunc) []admin.Finding {
	states := p.processStates()
	var list []admin.Finding
	p.world.Graph.View(func(v flow.View) {
		for _, ref := range slices.SortedFunc(maps.Keys(states), model.ObjectRef.Compare) {
			state := states[ref]
			proxies, _ := flow.Get(v, p.world.Feedback.Proxies.Collection(), ref)
			g, _ := flow.Get(v, p.world.Plan.Gateways, ref)
			if state.Exit == "" || proxies.Connected > 0 || g.DataPlane.ReadsFiles && state.PID != 0 {
				continue
			}
			message := "the proxy does not run: " + state.Exit
			if n := len(state.Output); n > 0 {
				message += "; its last line of output: " + state.Output[n-1]
			}
			list = append(list, admin.Finding{Severity: model.Error.String(), Object: ref.String(),
				Where: place(ref, "").String(), Message: message})
		}
	})
	return list
}

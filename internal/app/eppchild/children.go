package eppchild

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"sync"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/process"
)

// Config is what Children need. All of it must be set.
type Config struct {
	Graph   *flow.Graph
	Plan    *plan.Plan
	Sources *input.Sources
	Program string // Cardea's own executable
	Dir     string // gets a folder for each child
	Log     *slog.Logger
}

// Children are the pickers of all pools that need one.
type Children struct {
	config  Config
	client  *http.Client // asks the children; no proxy of the environment stands between
	running sync.WaitGroup

	mu   sync.Mutex
	list map[model.ObjectRef]*child
}

// New makes Children. Run starts them.
func New(c Config) *Children {
	return &Children{
		config: c, client: &http.Client{Transport: &http.Transport{}, Timeout: patience},
		list: map[model.ObjectRef]*child{},
	}
}

// Run keeps one child for each pool that needs one, until ctx is done. When it returns, all have ended.
func (c *Children) Run(ctx context.Context) error {
	defer c.running.Wait()
	p := follow(c.config)
	defer p.stop()
	for range c.config.Graph.Watch(ctx) {
		var changed map[model.ObjectRef]bool
		c.config.Graph.View(func(v flow.View) { changed = p.read(v) })
		c.keep(ctx, p, changed)
	}
	return nil
}

// keep starts and ends the children of pools that changed, or tells them what did.
func (c *Children) keep(ctx context.Context, p *pools, changed map[model.ObjectRef]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pool := range changed {
		switch child, wanted := c.list[pool], p.wants(pool); {
		case child == nil && wanted:
			c.start(ctx, pool, p.told(pool))
		case child == nil:
		case wanted && child.leaving:
			next := p.told(pool)
			child.next = &next
		case wanted:
			child.tell(p.told(pool), c.config.Log)
		case child.leaving:
			child.next = nil
		default:
			child.leaving = true
			c.report(pool, nil)
			child.stop()
		}
	}
}

// start runs the child of a pool until it is stopped, and then another one if the pool wants one again. The caller
// holds mu.
func (c *Children) start(ctx context.Context, pool model.ObjectRef, is told) {
	running, stop := context.WithCancel(ctx)
	child := &child{dir: filepath.Join(c.config.Dir, folder(pool)), told: is, stop: stop}
	run, err := process.New(process.Config{
		Name: "picker " + pool.NamespacedName(), Command: child.command(c.config.Program, pool), Level: level, Grace: grace,
		Log:      c.config.Log,
		OnChange: func(s process.State) { c.changed(running, pool, child, s) },
	})
	if err != nil {
		panic(err) // it has a name and a command
	}
	child.process = run
	c.list[pool] = child
	c.running.Go(func() {
		_ = run.Run(running)
		child.remove(c.config.Log)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.list, pool)
		if child.next != nil {
			c.start(ctx, pool, *child.next)
		}
	})
}

// changed is called when a child was started or has ended.
func (c *Children) changed(ctx context.Context, pool model.ObjectRef, child *child, s process.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if child.unwatch != nil {
		child.unwatch()
	}
	child.admin = ""
	if ctx.Err() != nil {
		return // it was told to end
	}
	if s.PID == 0 {
		problem := "Cardea's picker does not run: " + s.Exit
		if n := len(s.Output); n > 0 {
			problem += "; its last line of output: " + s.Output[n-1]
		}
		c.report(pool, &model.Picker{Problem: problem})
		return
	}
	ctx, child.unwatch = context.WithCancel(ctx)
	c.running.Go(func() {
		at, admin, serves := child.serves(ctx, c.client)
		c.mu.Lock()
		defer c.mu.Unlock()
		if serves && ctx.Err() == nil {
			child.admin = admin
			c.report(pool, &model.Picker{Address: at})
		}
	})
}

// report says how far the picker of a pool got; nil: it is not wanted.
func (c *Children) report(pool model.ObjectRef, is *model.Picker) {
	c.config.Graph.Apply("picker", func(b *flow.Batch) {
		if is == nil {
			c.config.Sources.Pickers.Delete(b, pool)
			return
		}
		c.config.Sources.Pickers.Set(b, pool, *is)
	})
}

// Admin is the base URL of the admin API of a pool's picker, such as http://127.0.0.1:9090; false if none serves.
func (c *Children) Admin(pool model.ObjectRef) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	child := c.list[pool]
	if child == nil || child.admin == "" {
		return "", false
	}
	return child.admin, true
}

// States are the states of the processes, by pool.
func (c *Children) States() map[model.ObjectRef]process.State {
	c.mu.Lock()
	list := maps.Clone(c.list)
	maps.DeleteFunc(list, func(_ model.ObjectRef, child *child) bool { return child.leaving })
	c.mu.Unlock()
	states := map[model.ObjectRef]process.State{}
	for pool, child := range list {
		states[pool] = child.process.State()
	}
	return states
}

// Metrics are the metrics of a pool's picker, as text for Prometheus; false if none serves.
func (c *Children) Metrics(ctx context.Context, pool model.ObjectRef) ([]byte, bool, error) {
	admin, serves := c.Admin(pool)
	if !serves {
		return nil, false, nil
	}
	text, err := process.Page(ctx, c.client, admin+"/metrics")
	return text, true, err
}

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
		config: c, client: &http.Client{Transport: &http.Transport{}, Timeout: answerTimeout},
		list: map[model.ObjectRef]*child{},
	}
}

// Run keeps one child for each pool that needs one, until ctx is done. When it returns, all have ended.
func (c *Children) Run(ctx context.Context) error {
	defer c.running.Wait()
	p := newPools(c.config)
	defer p.stopFollowing()
	for range c.config.Graph.Watch(ctx) {
		var changed map[model.ObjectRef]bool
		c.config.Graph.View(func(v flow.View) { changed = p.readChanges(v) })
		c.keepRunning(ctx, p, changed)
	}
	return nil
}

// keepRunning starts and ends the children of pools that changed, or tells them what did.
func (c *Children) keepRunning(ctx context.Context, p *pools, changed map[model.ObjectRef]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pool := range changed {
		switch child, wanted := c.list[pool], p.needsPicker(pool); {
		case child == nil && wanted:
			c.startChild(ctx, pool, p.filesFor(pool))
		case child == nil:
		case wanted && child.leaving:
			next := p.filesFor(pool)
			child.next = &next
		case wanted:
			child.updateFiles(p.filesFor(pool), c.config.Log)
		case child.leaving:
			child.next = nil
		default:
			child.leaving = true
			c.reportState(pool, nil)
			child.stop()
		}
	}
}

// startChild runs the child of a pool until it is stopped, and then another one if the pool wants one again. The caller
// holds mu.
func (c *Children) startChild(ctx context.Context, pool model.ObjectRef, is pickerFiles) {
	running, stop := context.WithCancel(ctx)
	child := &child{dir: filepath.Join(c.config.Dir, folderName(pool)), files: is, stop: stop}
	run, err := process.New(process.Config{
		Name: "picker " + pool.NamespacedName(), Command: child.newCommand(c.config.Program, pool), Level: logLevel,
		Grace:    stopTimeout,
		Log:      c.config.Log,
		OnChange: func(s process.State) { c.onChange(running, pool, child, s) },
	})
	if err != nil {
		panic(err) // it has a name and a command
	}
	child.process = run
	c.list[pool] = child
	c.running.Go(func() {
		_ = run.Run(running)
		child.removeFolder(c.config.Log)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.list, pool)
		if child.next != nil {
			c.startChild(ctx, pool, *child.next)
		}
	})
}

// onChange is called when a child was started or has ended.
func (c *Children) onChange(ctx context.Context, pool model.ObjectRef, child *child, s process.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if child.stopWait != nil {
		child.stopWait()
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
		c.reportState(pool, &model.PickerState{Problem: problem})
		return
	}
	ctx, child.stopWait = context.WithCancel(ctx)
	c.running.Go(func() {
		at, admin, serves := child.waitServing(ctx, c.client)
		c.mu.Lock()
		defer c.mu.Unlock()
		if serves && ctx.Err() == nil {
			child.admin = admin
			c.reportState(pool, &model.PickerState{Address: at})
		}
	})
}

// reportState says how far the picker of a pool got; nil: it is not wanted.
func (c *Children) reportState(pool model.ObjectRef, is *model.PickerState) {
	c.config.Graph.Apply("picker", func(b *flow.Batch) {
		if is == nil {
			c.config.Sources.Pickers.Delete(b, pool)
			return
		}
		c.config.Sources.Pickers.Set(b, pool, *is)
	})
}

// AdminURL is the base URL of the admin API of a pool's picker, such as http://127.0.0.1:9090; false if none serves.
func (c *Children) AdminURL(pool model.ObjectRef) (string, bool) {
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
	admin, serves := c.AdminURL(pool)
	if !serves {
		return nil, false, nil
	}
	text, err := process.FetchPage(ctx, c.client, admin+"/metrics")
	return text, true, err
}

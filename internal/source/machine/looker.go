package machine

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// recheckInterval is how long after a look at all files the next one is due.
const recheckInterval = 2 * time.Second

// Config is what a Checker needs.
type Config struct {
	Graph  *flow.Graph
	Wanted *flow.Collection[model.File, struct{}] // nil: nothing ever is
	Files  *flow.Source[model.File, model.FileState]
}

// Checker looks at files. One goroutine may use it.
type Checker struct {
	cfg    Config
	wanted *flow.Follower[model.File, struct{}]
	states map[model.File]model.FileState // of all that are wanted
}

// New makes a Checker. It does nothing before Run or Step.
func New(cfg Config) *Checker {
	l := &Checker{cfg: cfg, states: map[model.File]model.FileState{}}
	if cfg.Wanted != nil {
		l.wanted = flow.Follow(cfg.Wanted)
	}
	return l
}

// Run looks at files until ctx is done: at once when one is named, and again from time to time.
func (l *Checker) Run(ctx context.Context) error {
	if l.wanted == nil {
		return nil
	}
	defer l.wanted.Stop()
	turns := l.cfg.Graph.Notify(ctx)
	for {
		var due <-chan time.Time
		if len(l.states) > 0 {
			due = time.After(recheckInterval)
		}
		select {
		case _, open := <-turns:
			if !open {
				return nil
			}
			l.Step()
		case <-due:
			l.recheckFiles()
		}
	}
}

// Step looks at the files that the last turn began to name. It tells whether it learned anything: then another turn is
// due.
func (l *Checker) Step() (changed bool) {
	if l.wanted == nil {
		return false
	}
	l.cfg.Graph.View(func(v flow.View) {
		for change := range l.wanted.Changes(v) {
			_, known := l.states[change.Key]
			switch {
			case change.Deleted && known:
				delete(l.states, change.Key)
				l.cfg.Graph.Apply("file", func(b *flow.Batch) { l.cfg.Files.Delete(b, change.Key) })
			case !change.Deleted && !known:
				l.publishState(change.Key, checkFile(change.Key.Path))
			default:
				continue
			}
			changed = true
		}
	})
	return changed
}

// recheckFiles finds what changed since.
func (l *Checker) recheckFiles() {
	for file, was := range l.states {
		if is := checkFile(file.Path); is != was {
			l.publishState(file, is)
		}
	}
}

func (l *Checker) publishState(file model.File, is model.FileState) {
	l.states[file] = is
	l.cfg.Graph.Apply("file", func(b *flow.Batch) { l.cfg.Files.Set(b, file, is) })
}

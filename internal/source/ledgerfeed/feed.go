package ledgerfeed

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/synthetic"
	"cardea.dev/cardea/internal/source/validcache"
)

// Config of a Feed.
type Config struct {
	Ledger  ledger.Reader
	Target  string
	Sources *input.Sources
	Graph   *flow.Graph
	Schema  *schema.Schema
	Log     *slog.Logger
	// Cache knows which contents were valid in an earlier run. Nobody else uses it; nil: nothing is known.
	Cache *validcache.Cache
	// OnApplied, if not nil, is called after a snapshot or a change went into the graph, with what was edited, without
	// contents.
	OnApplied func([]ledger.Object)
}

// Problem is what is wrong with the ledger, or with an object of it.
type Problem struct {
	Object   string // "" is the ledger
	Ref      model.ObjectRef
	Change   int64 // that brought the object as it is; 0: not known
	Field    string
	Message  string
	Severity model.Severity
	Stale    bool     // the version before serves
	Closes   []string // what is closed because of it
}

// Feed reads a target's objects into sources.
type Feed struct {
	Config

	// Only in the goroutine that reads.
	head           ledger.Head // up to which changes were taken, as it was then
	loaded         bool
	namespaces     synthetic.Namespaces
	grants         withdrawnGrants
	sealedSecrets  map[model.ObjectRef]ledger.Key // Secrets that can't be opened
	reopenInterval time.Duration                  // between tries to open them

	mu        sync.Mutex
	known     map[model.ObjectRef]knownObject
	problems  map[model.ObjectRef]Problem
	lastError string // why the ledger is not followed; "" if it is
	ready     bool
}

// knownObject is what is known of an object.
type knownObject struct {
	generation, change int64
	published          bool              // there is a version in the graph
	old                map[string]any    // see schema.Object.Old
	closed             []model.ObjectRef // keys of what is closed, since the object can't be read
}

// New makes a Feed; nothing is read yet.
func New(c Config) *Feed {
	if c.Cache == nil {
		c.Cache = validcache.New("", "", c.Schema)
	}
	return &Feed{Config: c, namespaces: synthetic.Namespaces{}, known: map[model.ObjectRef]knownObject{},
		problems: map[model.ObjectRef]Problem{}, sealedSecrets: map[model.ObjectRef]ledger.Key{},
		reopenInterval: maxRetryDelay}
}

// The time between tries while the ledger can't be read, doubled each time.
const (
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = 5 * time.Second
)

// Run reads the ledger and follows it until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	wait := minRetryDelay
	for ctx.Err() == nil {
		began := f.head
		err := f.followLedger(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if f.head != began {
			wait = minRetryDelay
		}
		f.noteTrouble(err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, maxRetryDelay)
	}
	return nil
}

// Load reads what the ledger has now, once.
func (f *Feed) Load(ctx context.Context) error {
	head, err := f.Ledger.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	return f.takeSnapshot(ctx, head)
}

// followLedger takes what the ledger has and then each change, until something fails.
func (f *Feed) followLedger(ctx context.Context) error {
	head, err := f.Ledger.Head(ctx)
	if err != nil {
		return err
	}
	if !f.loaded || head.Epoch != f.head.Epoch {
		if err := f.takeSnapshot(ctx, head); err != nil {
			return err
		}
	} else if err := f.checkHistory(ctx, head); err != nil {
		return err
	}
	f.noteTrouble(nil)
	for again := true; again && err == nil; {
		if err = f.openSealed(ctx); err == nil {
			again, err = f.watchChanges(ctx, head)
		}
	}
	return err
}

// watchChanges takes each change. While a Secret can't be opened, it ends in time to try again, since its key file may
// come back; again says so.
func (f *Feed) watchChanges(ctx context.Context, head ledger.Head) (again bool, err error) {
	watched, end := context.WithCancel(ctx)
	defer end()
	bound := sync.OnceFunc(func() { time.AfterFunc(f.reopenInterval, end) })
	if len(f.sealedSecrets) > 0 {
		bound()
	}
	for changes, err := range batchChanges(watched, f.Ledger, f.head.Change) {
		switch {
		case ledger.CodeOf(err) == ledger.Compacted:
			return false, f.takeSnapshot(ctx, head)
		case err != nil && watched.Err() == nil:
			return false, err
		case err == nil:
			if err := f.takeChanges(ctx, changes); err != nil {
				return false, err
			}
		}
		if len(f.sealedSecrets) > 0 {
			bound()
		}
	}
	return watched.Err() != nil && ctx.Err() == nil, nil
}

// checkHistory returns an error if the ledger does not go on from what was taken: its history is another one.
func (f *Feed) checkHistory(ctx context.Context, head ledger.Head) error {
	restored := fmt.Errorf("the ledger is at change %d, but change %d is served: was an older backup restored? What "+
		"is served stays unchanged; `cardea ledger restored` switches to the ledger", head.Change, f.head.Change)
	if head.Change < f.head.Change {
		return restored
	}
	if f.head.Change == 0 || f.head.Change < head.Compacted {
		return nil
	}
	change, err := f.Ledger.Change(ctx, f.head.Change)
	if err == nil && change.Digest != f.head.Digest {
		return restored
	}
	return err
}

// noteTrouble notes and logs why the ledger is not followed, once; nil: it is.
func (f *Feed) noteTrouble(err error) {
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	f.mu.Lock()
	before := f.lastError
	f.lastError = trouble
	f.mu.Unlock()
	switch {
	case trouble == before:
	case trouble == "":
		f.Log.Info("ledger is followed", "change", f.head.Change)
	default:
		f.Log.Error("ledger is not followed; what is served stays", "error", trouble)
	}
}

// HasLoaded says whether everything of the ledger was read once.
func (f *Feed) HasLoaded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready
}

// ChangeOf is the change that made an object as it is; 0 if it is not in the ledger.
func (f *Feed) ChangeOf(ref model.ObjectRef) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known[ref].change
}

// WhyNotTaken says why an object's newest version is not in the graph; "" if it is.
func (f *Feed) WhyNotTaken(ref model.ObjectRef) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.problems[ref]
	return strings.TrimPrefix(p.Field+": "+p.Message, ": ")
}

// Problems lists what is wrong now: first with the ledger, then with objects.
func (f *Feed) Problems() (list []Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.problems {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Problem) int { return a.Ref.Compare(b.Ref) })
	if f.lastError != "" {
		list = slices.Insert(list, 0, Problem{Message: f.lastError})
	}
	return list
}

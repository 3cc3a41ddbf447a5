package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/lifecycle"
	"cardea.dev/cardea/internal/source/synthetic"
	"cardea.dev/cardea/internal/source/validcache"
)

// Hold is how long an object stays live after its text went away, in case that comes back, and how long a new version
// of an object waits for what it begins to name.
const Hold = lifecycle.Hold

// Config of a Folder.
type Config struct {
	Dir      string // a folder, or one file
	Sources  *input.Sources
	Graph    *flow.Graph
	Schema   *schema.Schema
	Log      *slog.Logger     // nil discards
	CacheDir string           // "" remembers nothing
	Now      func() time.Time // time.Now if nil
	// OnProblem hears of each new problem once, from the goroutine that reads; of very many that one look finds, of some.
	// If nil, they are logged.
	OnProblem func(Problem)
}

// Folder reads a folder, or one file, into sources.
type Folder struct {
	// Set by New.
	inputPath
	sources       *input.Sources
	catalog       *kind.Catalog
	graph         *flow.Graph
	schema        *schema.Schema
	log           *slog.Logger
	now           func() time.Time
	onProblem     func(Problem)
	problemSource *flow.Source[ProblemKey, Problem]

	// Written by the goroutine that reads, under mu; read by others under mu.
	mu         sync.Mutex
	files      map[string]*file
	winners    map[model.ObjectRef]*item   // which item declares an object: of several, the one that wins
	contested  map[model.ObjectRef][]*item // what several items declare: all of them, the one that wins first
	flawedDocs map[*document]struct{}
	folderReport

	// Only in the goroutine that reads.
	cache         *validcache.Cache
	objects       *lifecycle.Objects[*goodVersion] // what is published, and what waits
	namespaces    synthetic.Namespaces             // of published objects
	missingGrants map[model.ObjectRef]missingGrant // ReferenceGrants that are live and that no text declares
	withdrawn     []model.ObjectRef                // ReferenceGrants that are gone, the last maxWithdrawn
	unsettled     map[string]struct{}              // files that were being written at the last look
	// backends that have EndpointSlices in this look; nil until somebody asks
	backendsWithSlices map[model.ObjectRef]bool
	listing            *folderListing
	others             map[string]otherFile // of the listing
	neverListed        map[string]struct{}  // what could not be read when the folder was listed first, nor since
	refill             refill
	readErr            error // why the folder could not be read; nil if it could
	loaded             bool
	scan               int

	listed atomic.Bool // the folder was listed and published at least once
	stats  struct{ parsed, checked, published atomic.Int64 }
}

// New makes a Folder; nothing is read yet.
func New(c Config) (*Folder, error) {
	if c.Dir == "" {
		return nil, errors.New("files: no folder given")
	}
	root, err := newInputPath(c.Dir)
	if err != nil {
		return nil, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	f := &Folder{
		inputPath: root, sources: c.Sources, catalog: c.Sources.Catalog, graph: c.Graph, schema: c.Schema, log: c.Log,
		now:           c.Now,
		onProblem:     c.OnProblem,
		problemSource: flow.NewSource[ProblemKey, Problem](c.Graph, "files/problems"),
		files:         map[string]*file{}, winners: map[model.ObjectRef]*item{},
		contested: map[model.ObjectRef][]*item{}, flawedDocs: map[*document]struct{}{},
		missingGrants: map[model.ObjectRef]missingGrant{},
		cache:         validcache.New(c.CacheDir, root.absolutePath(), c.Schema), namespaces: synthetic.Namespaces{},
		unsettled: map[string]struct{}{}, listing: &folderListing{},
	}
	f.objects = lifecycle.New(versionSource{f}, f.catalog.ByNaming)
	if f.onProblem == nil {
		f.onProblem = func(p Problem) {
			level := slog.LevelError
			if p.Severity != model.Error {
				level = slog.LevelWarn
			}
			f.log.Log(context.Background(), level, "problem in the folder", "problem", p.String())
		}
	}
	return f, nil
}

// Load reads the folder once and publishes what it holds; all input sources are then synced. Its error is that the
// folder can't be read; what is wrong inside is in Problems.
func (f *Folder) Load() error {
	f.refresh(lookRequest{all: true})
	if f.readErr != nil {
		return fmt.Errorf("read the %s %s: %w", f.fileOrFolder(), quoteName(f.name), withoutPath(f.readErr))
	}
	return nil
}

// HasLoaded says whether the folder was ever listed and what it held was published. It does not become false again.
func (f *Folder) HasLoaded() bool { return f.listed.Load() }

// Problems lists what is wrong now, by file and line.
func (f *Folder) Problems() []Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	return listProblems(f.problems)
}

// LostLink says what a link of Lost may mean.
const LostLink = "a link to a path that does not exist: if it should be a folder, its objects are missing"

// LostLinks are links to what does not exist that may be of folders: what those state is not known. Each is
// among the problems as a warning; what is known to be of objects, or was read before, is there as an error.
func (f *Folder) LostLinks() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.listing.lostLinks)
}

// Stats are counts of work since the start.
type Stats struct {
	Parsed    int64 // documents parsed
	Checked   int64 // objects defaulted and validated
	Published int64 // objects set in or deleted from their sources
}

// Stats tells how much was done.
func (f *Folder) Stats() Stats {
	return Stats{Parsed: f.stats.parsed.Load(), Checked: f.stats.checked.Load(), Published: f.stats.published.Load()}
}

func splitDocuments(path string, text []byte) []chunk {
	if isJSON(path, text) {
		return splitJSON(text)
	}
	return splitYAML(text)
}

// runParallel runs work on all cores if it is much. Each of those that work makes its own tool.
func runParallel[T, Tool any](list []T, work func(T, *Tool)) {
	const few = 4
	var next atomic.Int64
	worker := func() {
		var tool Tool
		for i := next.Add(1); i <= int64(len(list)); i = next.Add(1) {
			work(list[i-1], &tool)
		}
	}
	if len(list) < few {
		worker()
		return
	}
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) {
		wait.Go(worker)
	}
	wait.Wait()
}

func sortedPaths(set map[string]struct{}) []string {
	list := make([]string, 0, len(set))
	for p := range set {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

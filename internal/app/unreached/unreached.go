package unreached

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/epp"
)

const (
	interval      = 5 * time.Second // from the end of a round of questions to the next one
	answerTimeout = 2 * time.Second // for an answer
	maxConcurrent = 8               // questions
)

// Config is what a Watcher needs. All but Interval must be set.
type Config struct {
	Graph   *flow.Graph
	Pickers *flow.Collection[model.ObjectRef, plan.PickerSpec]
	States  *flow.Source[model.ObjectRef, model.UnreachedEndpoints] // is filled
	// Admin tells where a pool's picker is asked, such as http://127.0.0.1:9090; false if it does not serve. It is not
	// called in a View.
	Admin    func(pool model.ObjectRef) (base string, ok bool)
	Interval time.Duration // from a round of questions to the next one; 0: 5 s
}

// Watcher asks pickers.
type Watcher struct {
	config Config
	client *http.Client // no proxy of the environment stands between
	known  map[model.ObjectRef]model.UnreachedEndpoints
	missed map[model.ObjectRef]bool // pickers that did not answer the last question
}

// New makes a Watcher; Run does the work.
func New(c Config) *Watcher {
	if c.Interval == 0 {
		c.Interval = interval
	}
	return &Watcher{
		config: c, client: &http.Client{Transport: &http.Transport{}, Timeout: answerTimeout},
		known: map[model.ObjectRef]model.UnreachedEndpoints{}, missed: map[model.ObjectRef]bool{},
	}
}

// Run asks until ctx is done.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.client.CloseIdleConnections()
	next := time.NewTimer(w.config.Interval)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-next.C:
		}
		if answers := w.askAll(ctx); ctx.Err() == nil {
			w.writeAnswers(answers)
		}
		next.Reset(w.config.Interval)
	}
}

// askAll asks each picker once. One that misses a question is known by its last answer, until it misses another one.
func (w *Watcher) askAll(ctx context.Context) map[model.ObjectRef]model.UnreachedEndpoints {
	var pools []model.ObjectRef
	w.config.Graph.View(func(v flow.View) {
		for pool := range flow.All(v, w.config.Pickers) {
			pools = append(pools, pool)
		}
	})
	var mu sync.Mutex
	answers := map[model.ObjectRef]model.UnreachedEndpoints{}
	var group errgroup.Group
	group.SetLimit(maxConcurrent)
	for _, pool := range pools {
		group.Go(func() error {
			if answer, ok := w.askPicker(ctx, pool); ok {
				mu.Lock()
				defer mu.Unlock()
				answers[pool] = answer
			}
			return nil
		})
	}
	_ = group.Wait() // no question fails
	missed := map[model.ObjectRef]bool{}
	for _, pool := range pools {
		if _, answered := answers[pool]; answered {
			continue
		}
		missed[pool] = true
		if was, known := w.known[pool]; known && !w.missed[pool] {
			answers[pool] = was
		}
	}
	w.missed = missed
	return answers
}

// askPicker asks one picker; false if it does not answer. The program that runs the picker reports the reason.
func (w *Watcher) askPicker(ctx context.Context, pool model.ObjectRef) (model.UnreachedEndpoints, bool) {
	base, serves := w.config.Admin(pool)
	if !serves {
		return model.UnreachedEndpoints{}, false
	}
	text, err := process.FetchPage(ctx, w.client, base+"/unreached")
	var told epp.UnreachedEndpoints
	if err != nil || json.Unmarshal(text, &told) != nil {
		return model.UnreachedEndpoints{}, false
	}
	return toUnreached(told), true
}

func toUnreached(told epp.UnreachedEndpoints) model.UnreachedEndpoints {
	var first []string
	for _, e := range told.First {
		first = append(first, fmt.Sprintf("%s (%s)", e.Endpoint, e.Why))
	}
	u := model.UnreachedEndpoints{Count: told.Count, Total: told.Endpoints, First: strings.Join(first, ", "),
		NoToken: told.NoToken}
	if more := told.Count - len(told.First); more > 0 {
		u.First += fmt.Sprintf(" and %d more", more)
	}
	return u
}

// writeAnswers writes the answers that changed. If nothing changed, there is no turn.
func (w *Watcher) writeAnswers(answers map[model.ObjectRef]model.UnreachedEndpoints) {
	same := len(answers) == len(w.known)
	for pool, answer := range answers {
		was, known := w.known[pool]
		same = same && known && was == answer
	}
	if same {
		return
	}
	w.config.Graph.Apply("unreached", func(b *flow.Batch) {
		for pool := range w.known {
			if _, stays := answers[pool]; !stays {
				w.config.States.Delete(b, pool)
			}
		}
		for pool, answer := range answers {
			if was, known := w.known[pool]; !known || was != answer {
				w.config.States.Set(b, pool, answer)
			}
		}
	})
	w.known = answers
}

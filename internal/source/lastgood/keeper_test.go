package lastgood

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// rig is a graph in which a test says what is used.
type rig struct {
	graph *flow.Graph
	used  *flow.Source[model.MaterialKey, plan.Material]
	kept  *flow.Source[model.MaterialKey, model.Material]
}

func newRig() *rig {
	g := flow.New(flow.Config{Check: true})
	r := &rig{g, flow.NewSource[model.MaterialKey, plan.Material](g, "used"),
		flow.NewSource[model.MaterialKey, model.Material](g, "kept")}
	g.Apply("start", func(b *flow.Batch) {
		r.used.MarkSynced(b)
		r.kept.MarkSynced(b)
	})
	return r
}

var key = model.MaterialKey{Object: model.Ref(model.KindSecret, "a", "cert"), Use: "certificate"}

// use says that a text is used until a time; "": nothing is.
func (r *rig) use(text string, until time.Time) {
	r.graph.Apply("test", func(b *flow.Batch) {
		if text == "" {
			r.used.Delete(b, key)
		} else {
			r.used.Set(b, key, plan.Material{Material: model.Material{Text: []byte(text), Until: until}})
		}
	})
}

func (r *rig) is() (text string) {
	r.graph.View(func(v flow.View) {
		own, _ := flow.Get(v, r.kept.Collection(), key)
		text = string(own.Text)
	})
	return text
}

// TestKeeper: what is used is kept until it is used no more or has expired, also if nothing else happens then.
func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig()
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		k := New(Config{Graph: r.graph, Used: r.used.Collection(), Kept: r.kept})
		for _, run := range []func(context.Context) error{r.graph.Run, k.Run} {
			running.Go(func() {
				if err := run(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			})
		}
		now := time.Now()
		for _, step := range []struct {
			about, text string
			until       time.Time
			after       time.Duration
			want        string
		}{
			{"for good", "one", time.Time{}, 1000 * time.Hour, "one"},
			{"another one", "two", now.Add(2000 * time.Hour), 0, "two"},
			{"a moment before it expires", "two", now.Add(2000 * time.Hour), 1000*time.Hour - time.Nanosecond, "two"},
			{"when it expires", "two", now.Add(2000 * time.Hour), time.Nanosecond, ""},
			{"one that has expired", "three", now, 0, ""},
			{"a new one", "four", now.Add(3000 * time.Hour), 0, "four"},
			{"used no more", "", time.Time{}, 0, ""},
		} {
			r.use(step.text, step.until)
			time.Sleep(step.after) // in the bubble's time
			synctest.Wait()
			if got := r.is(); got != step.want {
				t.Errorf("%s: %q is kept, want %q", step.about, got, step.want)
			}
		}
		cancel()
		running.Wait()
	})
}

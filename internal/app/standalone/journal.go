package standalone

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// journal logs what findings about objects come and go, and where Gateways serve. Package files logs what is wrong with
// the folder itself.
type journal struct {
	world *world.World
	// locate makes what finds an object in the folder, for one turn.
	locate func() where
	log    *slog.Logger
}

// manyLines is how many lines of one kind a turn logs at most: if thousands of objects have the same finding, a few of
// them and their number are enough.
const manyLines = 20

// run logs until ctx is done.
func (j *journal) run(ctx context.Context) error {
	findings, serving := j.world.FollowFindings(), newServing(j.world)
	defer findings.Stop()
	defer serving.stop()
	for range j.world.Graph.Watch(ctx) {
		var come, gone []model.Finding
		var changes []served
		j.world.Graph.View(func(v flow.View) {
			come, gone = findings.Changes(v)
			changes = serving.changes(v)
		})
		j.tellCome(come)
		j.tellGone(gone)
		j.tellServing(changes)
	}
	return nil
}

func (j *journal) tellCome(list []model.Finding) {
	if len(list) == 0 {
		return
	}
	more, place := len(list)-manyLines, j.locate()
	if more > 0 { // errors first
		slices.SortStableFunc(list, func(a, b model.Finding) int { return cmp.Compare(a.Severity, b.Severity) })
		list = list[:manyLines]
	}
	for _, f := range list {
		level := map[model.Severity]slog.Level{model.Error: slog.LevelError, model.Warning: slog.LevelWarn}[f.Severity]
		at := place(f.Object, f.Field).String()
		j.log.Log(context.Background(), level, "finding", "finding", strings.TrimPrefix(at+": ", ": ")+line(f))
	}
	if more > 0 {
		j.log.Warn("more findings: see cardea get findings", "more", more)
	}
}

func (j *journal) tellGone(list []model.Finding) {
	for _, f := range list[:min(len(list), manyLines)] {
		j.log.Info("finding gone", "finding", line(f))
	}
	if more := len(list) - manyLines; more > 0 {
		j.log.Info("more findings gone", "more", more)
	}
}

// line is a finding without its place in the folder, as check prints it.
func line(f model.Finding) string { return model.Plain(fmt.Sprintf("%s: %s", f.Object, f.Says())) }

func (j *journal) tellServing(list []served) {
	for _, s := range list[:min(len(list), manyLines)] {
		gateway, at := s.gateway.NamespacedName(), strings.Join(s.addresses, ", ")
		switch s.what {
		case begins:
			j.log.Info(fmt.Sprintf("serving %s at %s", gateway, at), "gateway", gateway)
		case ends:
			j.log.Info("gateway stopped", "gateway", gateway, "freed", at)
		case binds:
			j.log.Info("port bound", "gateway", gateway, "address", at)
		case frees:
			j.log.Info("port freed", "gateway", gateway, "address", at)
		}
	}
	if more := len(list) - manyLines; more > 0 {
		j.log.Info("more gateways and ports changed: see cardea get gateways -A", "more", more)
	}
}

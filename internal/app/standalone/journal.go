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

// journal logs what findings about objects come and go, and where ListGateways serve. Package files logs what is wrong
// with the folder itself.
type journal struct {
	world *world.World
	// locate makes what finds an object in the folder, for one turn.
	locate func() locateFunc
	log    *slog.Logger
}

// manyLines is how many lines of one kind a turn logs at most: if thousands of objects have the same finding, a few of
// them and their number are enough.
const manyLines = 20

// runLog logs until ctx is done.
func (j *journal) runLog(ctx context.Context) error {
	findings, serving := j.world.FollowFindings(), newServingFollower(j.world)
	defer findings.Stop()
	defer serving.stopFollowing()
	for range j.world.Graph.Watch(ctx) {
		var come, gone []model.Finding
		var changes []servingChange
		j.world.Graph.View(func(v flow.View) {
			come, gone = findings.Changes(v)
			changes = serving.takeChanges(v)
		})
		j.logNew(come)
		j.logGone(gone)
		j.logServing(changes)
	}
	return nil
}

func (j *journal) logNew(list []model.Finding) {
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
		j.log.Log(context.Background(), level, "finding", "finding", strings.TrimPrefix(at+": ", ": ")+findingLine(f))
	}
	if more > 0 {
		j.log.Warn("more findings: see cardea get findings", "more", more)
	}
}

func (j *journal) logGone(list []model.Finding) {
	for _, f := range list[:min(len(list), manyLines)] {
		j.log.Info("finding gone", "finding", findingLine(f))
	}
	if more := len(list) - manyLines; more > 0 {
		j.log.Info("more findings gone", "more", more)
	}
}

// findingLine is a finding without its place in the folder, as check prints it.
func findingLine(f model.Finding) string {
	return model.EscapeUnprintable(fmt.Sprintf("%s: %s", f.Object, f.Describe()))
}

func (j *journal) logServing(list []servingChange) {
	for _, s := range list[:min(len(list), manyLines)] {
		gateway, at := s.ref.NamespacedName(), strings.Join(s.addresses, ", ")
		switch s.what {
		case gatewayBegins:
			j.log.Info(fmt.Sprintf("serving %s at %s", gateway, at), "gateway", gateway)
		case gatewayEnds:
			j.log.Info("gateway stopped", "gateway", gateway, "freed", at)
		case addressBound:
			j.log.Info("port bound", "gateway", gateway, "address", at)
		case addressFreed:
			j.log.Info("port freed", "gateway", gateway, "address", at)
		}
	}
	if more := len(list) - manyLines; more > 0 {
		j.log.Info("more gateways and ports changed: see cardea get gateways -A", "more", more)
	}
}

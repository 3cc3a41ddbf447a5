package standalone

import (
	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/files"
	"cardea.dev/cardea/internal/schema"
	"cardea.dev/cardea/internal/world"
)

func newFolder(o Options, w *world.World, onProblem func(files.Problem)) (*files.Folder, error) {
	s, err := schema.New()
	if err != nil {
		return nil, err
	}
	return files.New(files.Config{
		Dir: o.Dir, Sources: w.Sources, Graph: w.Graph, Schema: s, Log: o.logger(), CacheDir: o.CacheDir, OnProblem: onProblem,
	})
}

func newAdmin(o Options, w *world.World, folder *files.Folder, s *stamps, ready *readiness, registry *prometheus.Registry) (*admin.Server, error) {
	return admin.New(admin.Config{
		Addr: o.Admin, Graph: w.Graph, Objects: newObjects(w, s), Ready: ready.state, Gatherer: registry,
		Findings: func() []admin.Finding { return allFindings(w, folder) }, Log: o.logger(), OnListen: o.OnAdmin,
	})
}

// allFindings is what the user should be told: about the folder and about the objects.
func allFindings(w *world.World, folder *files.Folder) []admin.Finding {
	var list []admin.Finding
	for _, p := range folder.Problems() {
		message := p.Message
		if p.Stale {
			message += "; its last good version keeps serving"
		}
		list = append(list, admin.Finding{Severity: p.Severity.String(), Object: p.Object, Where: files.Place{File: p.File, Line: p.Line}.String(), Field: p.Field, Message: message})
	}
	places := folder.Locator()
	for _, f := range w.Findings() {
		list = append(list, admin.Finding{
			Severity: f.Severity.String(), Object: f.Object.String(), Where: places.Where(f.Object, f.Field).String(), Field: f.Field,
			Condition: f.Condition, Reason: f.Reason, Message: f.Message,
		})
	}
	return list
}

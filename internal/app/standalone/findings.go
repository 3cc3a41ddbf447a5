package standalone

import (
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/source/files"
)

// locateFunc finds an object's field in the folder, or which change of the ledger made the object as it is.
type locateFunc func(object model.ObjectRef, field string) files.Position

// locateNothing does not search, since that would read files.
func locateNothing(model.ObjectRef, string) files.Position { return files.Position{} }

// allFindings are all findings: about where the objects come from, and about the objects.
func allFindings(problems []files.Problem, objects []model.Finding, place locateFunc) []admin.Finding {
	var list []admin.Finding
	for _, p := range problems {
		list = append(list, admin.Finding{
			Severity: p.Severity.String(), Object: p.Object, Where: files.Position{File: p.File, Line: p.Line}.String(),
			Field: p.Field, Message: problemMessage(p),
		})
	}
	for _, f := range objects {
		shown := admin.FindingOf(f)
		shown.Where = place(f.Object, f.Field).String()
		list = append(list, shown)
	}
	return list
}

// problemMessage is the message of a problem, with what happens to the object.
func problemMessage(p files.Problem) string {
	if p.Stale {
		return p.Message + "; its last good version stays in use"
	}
	return p.Message
}

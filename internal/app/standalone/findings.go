package standalone

import (
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/source/files"
)

// where finds an object's field in the folder, or which change of the ledger made the object as it is.
type where func(object model.ObjectRef, field string) files.Place

// nowhere does not search, since that would read files.
func nowhere(model.ObjectRef, string) files.Place { return files.Place{} }

// allFindings are all findings: about where the objects come from, and about the objects.
func allFindings(problems []files.Problem, objects []model.Finding, place where) []admin.Finding {
	var list []admin.Finding
	for _, p := range problems {
		list = append(list, admin.Finding{
			Severity: p.Severity.String(), Object: p.Object, Where: files.Place{File: p.File, Line: p.Line}.String(),
			Field: p.Field, Message: said(p),
		})
	}
	for _, f := range objects {
		shown := admin.FindingOf(f)
		shown.Where = place(f.Object, f.Field).String()
		list = append(list, shown)
	}
	return list
}

// said is the message of a problem, with what happens to the object.
func said(p files.Problem) string {
	if p.Stale {
		return p.Message + "; its last good version keeps serving"
	}
	return p.Message
}

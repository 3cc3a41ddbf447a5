package e2e

import (
	"bytes"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"cardea.dev/cardea/examples/calls"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
)

// perturbed is behaviour files, to see what each field of their objects does.
type perturbed struct {
	*Plugged
	values map[string][]any // by field
	files  []*perturbedFile // sorted by name
	// rendered: a field shows what it does if something else is rendered or found, however calls are answered.
	rendered bool
}

type perturbedFile struct {
	name   string
	calls  []calls.Call // made through a real Envoy
	docs   []map[string]any
	effect *effect // of the file as it is; nil: not known yet
}

// effect is what objects come to.
type effect struct {
	outcome
	answers []simulate.Result // to the file's calls, without what is only a name
	partly  bool              // what is not simulated has a say in them
}

func (p *Plugged) perturbed(t *testing.T, paths []string) *perturbed {
	t.Helper()
	all := &perturbed{Plugged: p, values: corpusOf(t, paths).byField()}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file := &perturbedFile{name: strings.TrimSuffix(filepath.Base(path), ".txtar")}
		checked := false
		for _, f := range archive.Files {
			if f.Name == "calls" {
				if file.calls, err = calls.Parse(bytes.NewReader(f.Data)); err != nil {
					t.Fatal(err)
				}
			}
			checked = checked || f.Name == "calls" || f.Name == "findings"
			if isObjects(f.Name) {
				file.docs = append(file.docs, ReadDocs(string(f.Data))...)
			}
		}
		if checked {
			all.files = append(all.files, file)
		}
	}
	return all
}

// showing names up to n files that show what a field of a kind does.
func (p *perturbed) showing(t *testing.T, kind, field string, refused bool, n int) (names []string) {
	t.Helper()
	for _, file := range p.files {
		if len(names) < n && (refused || len(file.calls) > 0) && p.shows(t, file, kind, field, refused) {
			names = append(names, file.name)
		}
	}
	return names
}

// shows tells whether a file's calls would be answered otherwise with another value of a field, or without it; of a
// field that is refused, whether something else would be found.
func (p *perturbed) shows(t *testing.T, file *perturbedFile, kind, field string, refused bool) bool {
	t.Helper()
	for i, doc := range file.docs {
		if doc["kind"] != kind {
			continue
		}
		all := places(doc["spec"])
		for at, here := range all {
			if here.path != field {
				continue
			}
			if file.effect == nil {
				file.effect = p.effectOf(t, file.docs, file.calls)
			}
			if !refused && file.effect.refuses(doc, here) {
				continue
			}
			others := p.around(file.docs, i, at)
			if slices.ContainsFunc(others, func(docs []map[string]any) bool {
				other := p.effectOf(t, docs, file.calls)
				return refused && !reflect.DeepEqual(other.findings, file.effect.findings) ||
					!refused && p.differ(file.effect, other, field)
			}) {
				return true
			}
		}
	}
	return false
}

// around is others, and if no other value is valid by itself, such as of a type, those of what the place is in.
func (p *perturbed) around(docs []map[string]any, i, at int) [][]map[string]any {
	all := places(docs[i]["spec"])
	others := p.others(docs, i, at)
	for len(others) == 0 && at >= 0 {
		around := all[at].around()
		at = slices.IndexFunc(all, func(p place) bool { return p.at == around })
		others = p.others(docs, i, at)
	}
	return others
}

// others are a file's objects with other values at a place of one of them, as far as they are valid. Below 0 the place
// is the object itself.
func (p *perturbed) others(docs []map[string]any, i, at int) (list [][]map[string]any) {
	if at < 0 {
		return [][]map[string]any{slices.Delete(slices.Clone(docs), i, i+1)}
	}
	kind, _ := docs[i]["kind"].(string)
	for _, value := range p.valuesAt(kind, places(docs[i]["spec"])[at]) {
		other := deepCopy(docs)
		places(other[i]["spec"])[at].put(copyOf(value))
		if p.IsValid(other[i]) {
			list = append(list, other)
		}
	}
	return list
}

// valuesAt are what to put in a place: other values of a leaf, or nothing.
func (p *perturbed) valuesAt(kind string, at place) (list []any) {
	const enough = 8
	for _, e := range otherValues(kind, at, p.values) {
		if len(list) < enough {
			list = append(list, e.value)
		}
	}
	return append(list, nil)
}

// notSimulatedFields are those that say what is asked of an authorization server, and whom a proxy trusts. Neither is
// simulated.
var notSimulatedFields = regexp.MustCompile(`\.externalAuth\.|^(tls\.)?validation\.`)

func (p *perturbed) differ(before, after *effect, field string) bool {
	if p.rendered {
		return !maps.Equal(before.versions, after.versions) || !reflect.DeepEqual(before.findings, after.findings)
	}
	return before.differs(after, field)
}

// differs tells whether a call is answered otherwise, or, where that is not simulated, something else is rendered.
func (e *effect) differs(other *effect, field string) bool {
	if e.partly && notSimulatedFields.MatchString(field) {
		return !maps.Equal(e.versions, other.versions)
	}
	return !reflect.DeepEqual(e.answers, other.answers)
}

func (p *Plugged) effectOf(t *testing.T, docs []map[string]any, list []calls.Call) *effect {
	t.Helper()
	w := p.WorldOf(t, docs)
	e := &effect{outcome: outcomeOf(w)}
	w.Graph.View(func(v flow.View) {
		e.answer(&simulatedFolder{configs: simulationsOf(t, w, v)}, list)
	})
	return e
}

// answer simulates calls.
func (e *effect) answer(s *simulatedFolder, list []calls.Call) {
	for _, call := range list {
		result, _ := s.simulate(call)
		if call.Method == "SEND" {
			_, result = s.simulateConnection(call)
		}
		e.partly = e.partly || len(result.NotSimulated) > 0
		result.Listener, result.Chain, result.Table, result.VirtualHost = "", "", "", ""
		result.SharedBy = ""
		for i := range result.Outcomes {
			o := &result.Outcomes[i]
			o.Route, o.Match, o.Cluster, o.Locality = "", nil, "", ""
		}
		e.answers = append(e.answers, result)
	}
}

// refuses tells whether something is wrong with the part of an object that a place is in: a rule, a parentRef, or what
// is in no list.
func (e *effect) refuses(doc map[string]any, at place) bool {
	metadata, _ := doc["metadata"].(map[string]any)
	return slices.ContainsFunc(e.findings, func(f model.Finding) bool {
		return f.Severity == model.Error && f.Object.Kind().String() == doc["kind"] && f.Object.Name() == metadata["name"] &&
			part.FindString(f.Field) == part.FindString("spec."+at.at)
	})
}

var part = regexp.MustCompile(`^spec\.\w+\[\d+\]`)

package e2e

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/ops/diff"
)

// notShown lists the fields of which no edit is shown by a request, and why. `cardea diff` tells that the routes or
// resources differ.
var notShown = map[string]string{
	"HTTPRoute useDefaultGateways":                                 noParent,
	"GRPCRoute useDefaultGateways":                                 noParent,
	"GRPCRoute rules[].name":                                       sameRequests,
	"HTTPRoute rules[].filters[].externalAuth.http.path":           anotherServer,
	"TLSRoute useDefaultGateways":                                  noParent,
	"TLSRoute rules[].name":                                        sameConnections,
	"TCPRoute useDefaultGateways":                                  noParent,
	"TCPRoute rules[].name":                                        sameConnections,
	"UDPRoute useDefaultGateways":                                  noParent,
	"UDPRoute rules[].name":                                        sameConnections,
	"XBackend endpointSelector.matchLabels":                        ofSlices,
	"InferencePool selector.matchLabels":                           ofSlices,
	"InferencePool targetPorts[].number":                           "endpoints are counted, not named",
	"InferencePool endpointPickerRef.group":                        "a finding says that the picker can't be asked",
	"BackendTLSPolicy options":                                     "Cardea knows no options",
	"XBackend type":                                                "no other one is valid with the fields of this one",
	"HTTPRoute rules[].filters[].externalAuth.forwardBody.maxSize": anotherServer,
	"HTTPRoute rules[].filters[].externalAuth.grpc.allowedHeaders": anotherServer,
	"HTTPRoute rules[].filters[].externalAuth.http.allowedHeaders": anotherServer,
}

const (
	noParent        = "it names no parent, and is refused"
	ofSlices        = "the endpoints are those of slices"
	sameRequests    = "the same requests are taken, and the same becomes of them"
	sameConnections = "the same connections are taken, and the same becomes of them"
	anotherServer   = "what the server says is not simulated"
)

// How far a diff tells of edits of a field.
const (
	nothing = iota // than that the object differs
	differs        // routes, resources, findings
	shown          // a request, or a connection
)

// TestDiffOfEveryField edits each field of routes and backends, in the files of testdata: a request shows it, but for
// fields that say why not.
func TestDiffOfEveryField(t *testing.T) {
	t.Parallel()
	known := survey{told: map[string]int{}, tried: map[string]int{}, alone: map[string]bool{}}
	for _, k := range kinds.All() {
		if k.Page == nil {
			continue
		}
		for _, field := range k.FieldPaths() {
			known.told[k.String()+" "+field] = nothing
		}
	}
	c := readCorpus(t)
	values := c.byField()
	more := fieldAdder{values, map[string][]valueFields{}}
	for _, editsOf := range []func(string, place) []edit{
		func(kind string, at place) []edit { return otherValues(kind, at, values) }, more.moreFields,
	} {
		for _, docs := range c.files {
			differ := sync.OnceValue(func() *diff.Differ { return diff.New(diff.Config{World: worldOf(t, docs)}) })
			for _, original := range docs {
				if kind, _ := original["kind"].(string); isValid(original) {
					known.edit(t, differ, original, func(at place) []edit { return editsOf(kind, at) })
				}
			}
		}
	}
	for _, field := range slices.Sorted(maps.Keys(known.told)) {
		if reason, listed := notShown[field]; known.told[field] == shown == listed {
			t.Errorf("%s: told %d after %d edits; the list has %q", field, known.told[field], known.tried[field], reason)
		}
	}
}

// survey is what is known of fields so far.
type survey struct {
	told  map[string]int  // how far the best edit was; every field has one
	tried map[string]int  // edits
	alone map[string]bool // it was edited without others
}

// edit tries edits of an object: those of fields that no request showed yet. What edits several at once counts for
// those that can't be edited alone.
func (s survey) edit(
	t *testing.T, differ func() *diff.Differ, original map[string]any, edits func(place) []edit,
) {
	const most, mostOfObject = 40, 5 // edits of one field
	here := map[string]int{}
	for i, at := range places(original["spec"]) {
		for _, e := range edits(at) {
			exact := len(e.fields) == 1
			e.fields = slices.DeleteFunc(e.fields, func(field string) bool {
				told, known := s.told[field]
				return !known || told == shown || s.tried[field] == most || here[field] == mostOfObject || !exact && s.alone[field]
			})
			if len(e.fields) == 0 {
				continue
			}
			edited := copyOf(original).(map[string]any)
			if places(edited["spec"])[i].put(copyOf(e.value)); !isValid(edited) {
				continue
			}
			report, err := differ().Diff(diff.Edit{Objects: []map[string]any{edited}})
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range e.fields {
				s.tried[field]++
				here[field]++
				s.told[field] = max(s.told[field], toldBy(report))
				s.alone[field] = s.alone[field] || exact && !report.IsEmpty()
			}
		}
	}
}

func toldBy(r diff.Report) int {
	switch {
	case len(r.Requests)+len(r.Connections) > 0:
		return shown
	case len(r.Routes)+len(r.Resources)+len(r.Refused)+len(r.Warnings) > 0:
		return differs
	}
	return nothing
}

// fieldAdder adds to objects what others have.
type fieldAdder struct {
	values map[string][]any         // by kind and path
	fields map[string][]valueFields // of each of these
}

// valueFields are the fields in a value, and below each of its own.
type valueFields struct {
	all   []string
	below map[string][]string
}

// fieldsAt are those of the values at a path.
func (a fieldAdder) fieldsAt(kind, path string) []valueFields {
	key := kind + " " + path
	list, known := a.fields[key]
	if known {
		return list
	}
	leavesOf := func(path string, value any) (fields []string) {
		for _, p := range places(map[string]any{"_": value}) {
			fields = append(fields, fieldOf(kind, path+strings.TrimPrefix(p.path, "_")))
		}
		return fields
	}
	for _, value := range a.values[key] {
		f := valueFields{leavesOf(path, value), map[string][]string{}}
		own, _ := value.(map[string]any)
		for name, v := range own {
			f.below[name] = leavesOf(path+"."+name, v)
		}
		list = append(list, f)
	}
	a.fields[key] = list
	return list
}

// moreFields are the same place with a field that others have, with one more element, and what others have in place of
// it.
func (a fieldAdder) moreFields(kind string, at place) (list []edit) {
	switch v := at.value.(type) {
	case map[string]any:
		fields := a.fieldsAt(kind, at.path)
		for i, other := range a.values[kind+" "+at.path] {
			more, _ := other.(map[string]any)
			list = append(list, edit{slices.Clone(fields[i].all), other})
			for _, name := range SortedKeys(more) {
				if _, has := v[name]; !has {
					with := maps.Clone(v)
					with[name] = more[name]
					list = append(list, edit{slices.Clone(fields[i].below[name]), with})
				}
			}
		}
	case []any:
		fields := a.fieldsAt(kind, at.path+"[]")
		for i, other := range a.values[kind+" "+at.path+"[]"] {
			list = append(list, edit{slices.Clone(fields[i].all), append(slices.Clone(v), other)})
		}
	}
	return list
}

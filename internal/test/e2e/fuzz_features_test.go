package e2e

import (
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"cardea.dev/cardea/internal/core/input"
)

// stated is a place where a file states a feature.
type stated struct{ file, doc, place int }

// statedFeatures are the places of all features in all files.
func statedFeatures(c *corpus) (list []stated) {
	names := map[string]bool{}
	for _, e := range Own().Extensions {
		for _, f := range e.Features {
			names[e.Kind.String()+" "+f.Name] = true
			names[e.Kind.String()+" "+input.ExtensionsField+"."+f.Name] = true
		}
	}
	for file, docs := range c.files {
		for doc := range docs {
			kind, _ := docs[doc]["kind"].(string)
			for i, at := range places(docs[doc]["spec"]) {
				if names[kind+" "+at.path] {
					list = append(list, stated{file, doc, i})
				}
			}
		}
	}
	return list
}

// FuzzFeatures: whatever a policy states of a feature, it is refused by the schema, or it is read and rendered without
// a panic to what is valid by the rules of Envoy's protos. The seeds are what the files of testdata state.
func FuzzFeatures(f *testing.F) {
	c := readCorpus(f)
	all := statedFeatures(c)
	if len(all) == 0 {
		f.Fatal("no file states a feature")
	}
	for i, s := range all {
		spec, err := utiljson.Marshal(places(c.files[s.file][s.doc]["spec"])[s.place].value)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint16(i), spec)
	}
	f.Fuzz(func(t *testing.T, which uint16, text []byte) {
		s := all[int(which)%len(all)]
		var spec any
		if utiljson.Unmarshal(text, &spec) != nil {
			return
		}
		docs := deepCopy(c.files[s.file])
		places(docs[s.doc]["spec"])[s.place].put(spec)
		if isValid(docs[s.doc]) {
			rendered(t, docs)
		}
	})
}

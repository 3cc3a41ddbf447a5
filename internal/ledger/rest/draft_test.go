package rest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// FuzzDraft: whatever is sent, a draft is refused with words, or is one that a ledger can be given: by its author, with
// contents that are of their keys and come out the same when they go in again.
func FuzzDraft(f *testing.F) {
	for _, seed := range []string{
		`{"edits": [{"content": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "b"}}}]}`,
		`{"edits": [{"kind": "Secret", "name": "a", "content": {"apiVersion": "v1", "kind": "Secret", "metadata":
			{"name": "a"}, "stringData": {"p": "sha256:00000000000000000000000000000000"}}, "expect": 0}]}`,
		`{"edits": [{"kind": "A", "name": "a", "delete": true}], "hold": {"why": "x", "until": "2030-01-01T00:00:00Z"}}`,
		`{"edits": [{"group": "g", "kind": "A", "name": "a", "revision": 3}], "verb": "undo", "of": 1, "dryRun": true}`,
		`{"edits": [{"content": {"metadata": []}}]}`, `{"edits": [{"content": null}]}`, `{"edits": [{"a": 1, "a": 2}]}`,
		`{"edits": [{"content": {"apiVersion": "a/b/c", "kind": "\u0000", "metadata":
			{"name": "🦊", "annotations": {}}}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var generic any
		if unmarshal(text, &generic) != nil {
			return
		}
		var body wire.Draft
		if unmarshal(text, &body) != nil {
			return
		}
		d, err := draftOf(body, "alice", "fuzz", "key")
		if err != nil {
			if e, ok := errors.AsType[*ledger.Error](err); !ok || e.Message == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if d.Author != "alice" || d.Hold != nil && d.Hold.By != "alice" || len(d.Edits) != len(body.Edits) {
			t.Fatalf("%q: %+v", text, d)
		}
		for _, e := range d.Edits {
			if e.Target == "" || e.Kind == "" || e.Name == "" {
				t.Fatalf("%q: the key is %+v", text, e.Key)
			}
			if len(e.Content) == 0 {
				continue
			}
			again, err := edit(e.Key, e.Content)
			if err != nil || again.Key != e.Key || string(again.Content) != string(e.Content) {
				t.Fatalf("%q: %s is not stable: %s, %v", text, e.Content, again.Content, err)
			}
		}
	})
}

func TestMergePatch(t *testing.T) { // the examples of RFC 7396 that are about objects
	for _, c := range []struct{ now, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`}, {`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`}, {`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`}, {`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`}, {`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		got, err := merge(ledger.Content(c.now), ledger.Content(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("%s patched with %s = %s, %v, want %s", c.now, c.patch, got, err, c.want)
		}
	}
	for _, bad := range []string{`[]`, `null`, `"x"`, `1`} {
		if _, err := merge(ledger.Content(`{}`), ledger.Content(bad)); ledger.CodeOf(err) != ledger.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestOutcome(t *testing.T) {
	k := ledger.Key{Target: "t", Kind: "A", Name: "a"}
	change := ledger.Change{Number: 1, Edited: []ledger.Edited{{Key: k, Generation: 2}}}
	in := func(generation int64, code string) []ledger.InCluster {
		return []ledger.InCluster{{Cluster: "c", Applied: &ledger.Applied{Generation: generation, Code: code, Message: code}}}
	}
	live := func(generation int64, refused string) []ledger.Live {
		return []ledger.Live{{Generation: generation, Refused: refused}}
	}
	const proxies, clusters = ledger.Proxies, ledger.Clusters
	type status = ledger.Status
	never := []ledger.InCluster{{Cluster: "c"}}
	refusal := []ledger.Failed{{Cluster: "c", Code: "Forbidden"}}
	for name, c := range map[string]struct {
		server     ledger.Server
		status     status
		state, why string
	}{
		"nothing is known":             {proxies, status{}, statePending, "waits for proxies"},
		"an older generation is live":  {proxies, status{Live: live(1, "")}, statePending, "proxies"},
		"it is live":                   {proxies, status{Live: live(2, "")}, stateLive, ""},
		"a later generation is live":   {proxies, status{Live: live(3, "")}, stateLive, ""},
		"it is refused":                {proxies, status{Live: live(2, "no")}, stateRefused, "no"},
		"an older one was refused":     {proxies, status{Live: live(1, "no")}, statePending, "proxies"},
		"a cluster has not applied it": {clusters, status{Clusters: in(1, "")}, statePending, "cluster c"},
		"a cluster never applied it":   {clusters, status{Clusters: never}, statePending, "cluster c"},
		"a cluster has applied it":     {clusters, status{Clusters: in(2, "")}, stateApplied, ""},
		"applied and live":             {clusters, status{Clusters: in(2, ""), Live: live(2, "")}, stateLive, ""},
		"applied and refused":          {clusters, status{Clusters: in(2, ""), Live: live(2, "x")}, stateRefused, "x"},
		"a cluster refuses it": {clusters, status{Clusters: in(1, "Forbidden"), Failures: refusal},
			stateFailed, "Forbidden"},
		"it refused an older one":       {clusters, status{Clusters: in(1, "Forbidden")}, statePending, "cluster c"},
		"no cluster serves the target":  {clusters, status{}, stateApplied, ""},
		"it is deleted and gone":        {clusters, status{Deleted: true, Clusters: never}, stateApplied, ""},
		"it is deleted and still there": {clusters, status{Deleted: true, Clusters: in(1, "")}, statePending, ""},
	} {
		c.status.Key = k
		state, why := outcome(change, []ledger.Status{c.status}, map[string]ledger.Target{"t": {Server: c.server}})
		if state != c.state || !strings.Contains(why, c.why) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, state, why, c.state, c.why)
		}
	}
}

func TestCursorIsOpaqueAndBoundToItsList(t *testing.T) {
	c := cursor{At: 7, After: ledger.Key{Target: "t", Kind: "A", Name: "a"}, Filter: "f"}
	back, err := parseCursor(c.String(), "f")
	if err != nil || back != c {
		t.Fatalf("%+v, %v", back, err)
	}
	if _, err := parseCursor(c.String(), "g"); ledger.CodeOf(err) != ledger.Invalid {
		t.Fatal(err)
	}
	if !json.Valid([]byte(`"` + c.String() + `"`)) {
		t.Fatal(c.String())
	}
}

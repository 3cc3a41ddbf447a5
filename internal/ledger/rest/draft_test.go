package rest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
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
		if decodeJSON(text, &generic) != nil {
			return
		}
		var body wire.Draft
		if decodeJSON(text, &body) != nil {
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
			again, err := editFromContent(e.Key, e.Content)
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
		got, err := mergePatch(ledger.Content(c.now), ledger.Content(c.patch))
		if err != nil || string(got) != c.want {
			t.Errorf("%s patched with %s = %s, %v, want %s", c.now, c.patch, got, err, c.want)
		}
	}
	for _, bad := range []string{`[]`, `null`, `"x"`, `1`} {
		if _, err := mergePatch(ledger.Content(`{}`), ledger.Content(bad)); ledger.CodeOf(err) != ledger.Invalid {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestOutcome(t *testing.T) {
	k := ledger.Key{Target: "t", Kind: "A", Name: "a"}
	change := ledger.Change{Number: 1, Edited: []ledger.Edited{{Key: k, Generation: 2}}}
	at := func(cluster string, generation int64, code string) ledger.InCluster {
		return ledger.InCluster{Cluster: cluster, Applied: &ledger.Applied{Generation: generation, Code: code, Message: code,
			Permanent: code == "Forbidden"}}
	}
	in := func(list ...ledger.InCluster) []ledger.InCluster { return list }
	live := func(generation int64, refused string, clusters ...string) (list []ledger.Live) {
		for _, c := range clusters {
			list = append(list, ledger.Live{Cluster: c, Generation: generation, Refused: refused})
		}
		return list
	}
	const proxies, clusters = ledger.Proxies, ledger.Clusters
	type status = ledger.Status
	failed := func(code string) []ledger.Failed { return []ledger.Failed{{Cluster: "c", Code: code}} }
	for name, c := range map[string]struct {
		status status
		stage  ledger.Stage
		why    string
	}{
		"nothing is known":            {status{Server: proxies}, ledger.Committed, "no Cardea serves target t"},
		"an older generation is live": {status{Server: proxies, Live: live(1, "", "c")}, ledger.Committed, "proxies"},
		"it is live":                  {status{Server: proxies, Live: live(2, "", "c")}, ledger.IsLive, ""},
		"a later generation is live":  {status{Server: proxies, Live: live(3, "", "c")}, ledger.IsLive, ""},
		"there is a later one":        {status{Server: proxies, Generation: 3}, ledger.Superseded, ""},
		"it is refused":               {status{Server: proxies, Live: live(2, "no", "c")}, ledger.IsRefused, "c: no"},
		"an older one was refused":    {status{Server: proxies, Live: live(1, "no", "c")}, ledger.Committed, "proxies"},
		"a cluster has an older one": {status{Server: clusters, Clusters: in(at("c", 1, ""))}, ledger.Committed,
			"cluster c: it is not applied yet"},
		"a cluster never applied it": {status{Server: clusters, Clusters: in(ledger.InCluster{Cluster: "c"})},
			ledger.Committed, "cluster c: it is not applied yet"},
		"a cluster has applied it": {status{Server: clusters, Clusters: in(at("c", 2, ""))}, ledger.IsApplied,
			"cluster c: its controllers and proxies have not"},
		"applied and live": {status{Server: clusters, Clusters: in(at("c", 2, "")), Live: live(2, "", "c")},
			ledger.IsLive, ""},
		"live in one of two clusters": {status{Server: clusters, Clusters: in(at("c", 2, ""), at("d", 2, "")),
			Live: live(2, "", "c")}, ledger.IsApplied, "cluster d: its controllers and proxies have not"},
		"live in both clusters": {status{Server: clusters, Clusters: in(at("c", 2, ""), at("d", 2, "")),
			Live: live(2, "", "c", "d")}, ledger.IsLive, ""},
		"applied and refused": {status{Server: clusters, Clusters: in(at("c", 2, "")), Live: live(2, "x", "c")},
			ledger.IsRefused, "x"},
		"a cluster refuses it": {status{Server: clusters, Clusters: in(at("c", 1, "Forbidden")),
			Failures: failed("Forbidden")}, ledger.IsRefused, "Forbidden"},
		"it failed for now": {status{Server: clusters, Clusters: in(at("c", 1, "Timeout")), Failures: failed("Timeout")},
			ledger.Committed, "cluster c: Timeout: Timeout"},
		"it refused an older one": {status{Server: clusters, Clusters: in(at("c", 1, "Forbidden"))}, ledger.Committed,
			"cluster c"},
		"no cluster serves the target": {status{Server: clusters}, ledger.Committed, "no cluster serves target t"},
		"it is deleted and gone": {status{Server: clusters, Deleted: true, Clusters: in(ledger.InCluster{Cluster: "c"})},
			ledger.IsLive, ""},
		"it is deleted and still there": {status{Server: clusters, Deleted: true, Clusters: in(at("c", 1, ""))},
			ledger.Committed, "cluster c: "},
	} {
		c.status.Key = k
		stage, why := describeOutcome(change, []ledger.Status{c.status})
		if stage != c.stage || !strings.Contains(why, c.why) || c.why == "" && stage == ledger.IsLive && why != "" {
			t.Errorf("%s: %s (%s), want %s (%s)", name, stage, why, c.stage, c.why)
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

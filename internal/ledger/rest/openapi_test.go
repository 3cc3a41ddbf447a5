package rest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"cardea.dev/cardea/internal/ledger/rest"
)

// The check of answers finds what the document does not allow: else it would check nothing.
func TestCheckOfAnswersFindsWrongOnes(t *testing.T) {
	r := newRig(t)
	for name, bad := range map[string]struct {
		status     int
		kind, body string
	}{
		"a field too much":    {200, "application/json", `{"change": 1, "compacted": 0, "digest": "", "epoch": "", "x": 1}`},
		"a field too few":     {200, "application/json", `{"change": 1}`},
		"another type":        {200, "application/json", `{"change": "1", "compacted": 0, "digest": "", "epoch": ""}`},
		"another media type":  {200, "text/plain", `x`},
		"an undocumented one": {404, "application/json", `{}`},
	} {
		wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", bad.kind)
			w.WriteHeader(bad.status)
			w.Write([]byte(bad.body))
		}))
		found := 0
		c := http.Client{Transport: &checkObjectJSON{errorf: func(string, ...any) { found++ }, next: http.DefaultTransport,
			router: publishDocument(t, r.server.URL)}}
		a, err := c.Get(wrong.URL + rest.Prefix + "/head")
		r.ok(err)
		a.Body.Close()
		wrong.Close()
		if found == 0 {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestDocumentNamesAllEndpointsAndIsOpen(t *testing.T) {
	r := newRig(t)
	a, err := http.Get(r.server.URL + rest.Prefix + "/openapi.json") // without a token
	r.ok(err)
	defer a.Body.Close()
	var doc struct {
		OpenAPI    string
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	r.ok(json.NewDecoder(a.Body).Decode(&doc))
	var all []string
	for path, methods := range doc.Paths {
		for method := range methods {
			all = append(all, method+" "+path[len(rest.Prefix):])
		}
	}
	const object = "/targets/{target}/objects/{kind}/{namespace}/{name}"
	for _, want := range []string{"get " + object, "put " + object, "patch " + object, "delete " + object,
		"get " + object + "/history", "get /targets/{target}/objects", "post /changes", "get /changes",
		"get /changes/{number}", "get /changes/{number}/status", "post /changes/{number}/undo",
		"post /gateways/{namespace}/{name}/rollback", "post /preview", "get /watch", "get /status", "post /retry",
		"get /targets", "put /targets/{target}", "get /clusters", "get /clusters/{cluster}", "put /clusters/{cluster}",
		"delete /clusters/{cluster}", "post /clusters/{cluster}/claims", "post /clusters/{cluster}/results",
		"post /clusters/{cluster}/failures", "post /clusters/{cluster}/observations", "post /live", "get /tokens",
		"get /grants", "get /denials", "get /registry-log", "get /verify", "get /head", "post /proposals",
		"get /proposals", "get /proposals/{number}", "post /proposals/{number}/approve", "post /proposals/{number}/reject",
		"post /proposals/{number}/withdraw", "post /proposals/{number}/preview", "post /proposals/{number}/commit"} {
		if !slices.Contains(all, want) {
			t.Errorf("the document has no %s", want)
		}
	}
	if doc.OpenAPI != "3.1.0" || doc.Components.Schemas["ErrorModel"] != nil || doc.Components.Schemas["Problem"] == nil {
		t.Errorf("%s %v", doc.OpenAPI, doc.Components.Schemas)
	}
}

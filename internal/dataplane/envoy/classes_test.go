package envoy

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
)

// TestEnvoyKnowsTheClasses asks the real Envoy about every name of a class of characters that Go knows: it takes all
// that model.CheckRegex takes, at once, and none of the others.
func TestEnvoyKnowsTheClasses(t *testing.T) {
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	validate := func(expressions ...string) (said string, taken bool) {
		path := filepath.Join(dir, "classes.json")
		if err := os.WriteFile(path, withRegexes(t, expressions), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(binary, "--mode", "validate", "-l", "error", "--service-node", "n", "--service-cluster", "n",
			"-c", path).CombinedOutput()
		return string(out), err == nil
	}
	names := []string{"Any"}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Scripts} {
		names = slices.AppendSeq(names, maps.Keys(tables))
	}
	slices.Sort(names)
	var known []string
	for _, name := range names {
		expr := `\p{` + name + `}`
		if model.CheckRegex(expr) == nil {
			known = append(known, expr)
		} else if said, taken := validate(expr); taken || !strings.Contains(said, "invalid character class range") {
			t.Errorf("%s is refused, and Envoy says: %s", expr, said)
		}
	}
	if said, taken := validate(known...); !taken {
		t.Errorf("of %d classes not all are taken: %s", len(known), said)
	}
	t.Logf("%d of %d", len(known), len(names))
}

// withRegexes is the bootstrap of a proxy with a static listener that has a route for each regular expression.
func withRegexes(t *testing.T, expressions []string) []byte {
	t.Helper()
	type object = map[string]any
	text, err := bootstrap.Render(bootstrap.Config{NodeID: "n", XDSSocket: "/x", AdminSocket: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	var config object
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	routes := make([]object, len(expressions))
	for i, expr := range expressions {
		routes[i] = object{"match": object{"safe_regex": object{"regex": expr}}, "direct_response": object{"status": 200}}
	}
	config["static_resources"].(object)["listeners"] = []object{{
		"name":    "one",
		"address": object{"socket_address": object{"address": "127.0.0.1", "port_value": 0}},
		"filter_chains": []object{{"filters": []object{{
			"name": "envoy.filters.network.http_connection_manager",
			"typed_config": object{
				"@type": "type.googleapis.com/envoy.extensions.filters.network." +
					"http_connection_manager.v3.HttpConnectionManager",
				"stat_prefix": "one",
				"route_config": object{
					"virtual_hosts": []object{{"name": "all", "domains": []string{"*"}, "routes": routes}},
				},
				"http_filters": []object{{
					"name":         "envoy.filters.http.router",
					"typed_config": object{"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"},
				}},
			},
		}}}},
	}}
	if text, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	return text
}

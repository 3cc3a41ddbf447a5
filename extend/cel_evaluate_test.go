package extend

import "testing"

// TestEvaluateCEL: an expression is decided by what is known, and only if that is enough.
func TestEvaluateCEL(t *testing.T) {
	known := map[string]any{
		"request.path":             "/a",
		"metadata.filter_metadata": map[string]any{"mcp": map[string]any{"name": "get-sum"}},
	}
	for expr, want := range map[string]Truth{
		"request.path == '/a'":                                                      Certainly,
		"request.path.startsWith('/b')":                                             CertainlyNot,
		"request.path == '/a' && request.method == 'GET'":                           Unknown,
		"request.path == '/b' && request.method == 'GET'":                           CertainlyNot,
		"request.path == '/a' || request.headers['x'] == '1'":                       Certainly,
		"request.headers['x'] == '1'":                                               Unknown,
		"metadata.filter_metadata['mcp']['name'] == 'get-sum'":                      Certainly,
		"has(metadata.filter_metadata.mcp) && source.address.startsWith('10.0.0.')": Unknown,
	} {
		if got, err := EvaluateCEL(expr, known); got != want || err != nil {
			t.Errorf("%s: %d %v, want %d", expr, got, err, want)
		}
	}
	for _, expr := range []string{
		"metadata.filter_metadata['mcp']['uri'] == 'x'", "metadata.filter_metadata['other']['x'] == 'x'",
		"metadata.filter_metadata['mcp']['name'] < 5", "request.nope == 1",
	} {
		if got, err := EvaluateCEL(expr, known); err == nil {
			t.Errorf("%s: %d, want an error", expr, got)
		}
	}
}

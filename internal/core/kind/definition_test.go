package kind

import "testing"

func TestWithoutDescriptionsKeepsProperties(t *testing.T) {
	got := withoutDescriptions(map[string]any{
		"description": "gone",
		"properties": map[string]any{
			"description": map[string]any{"type": "string", "description": "gone"},
		},
		"items": map[string]any{"description": "gone"},
	})
	properties := got["properties"].(map[string]any)
	named, ok := properties["description"].(map[string]any)
	if !ok || named["type"] != "string" {
		t.Fatalf("a property named description was lost: %v", got)
	}
	if _, ok := named["description"]; ok || got["description"] != nil || len(got["items"].(map[string]any)) != 0 {
		t.Fatalf("a description was kept: %v", got)
	}
}

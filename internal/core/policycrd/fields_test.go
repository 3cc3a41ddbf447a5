package policycrd

import (
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestFieldsOf: each leaf of a schema is told, with what becomes of it where several policies state it.
func TestFieldsOf(t *testing.T) {
	var got strings.Builder
	for _, f := range FieldsOf(&extend.UntypedFeature{Name: "jwt", Schema: []byte(`{"type": "object", "properties": {
		"mode": {"type": "string", "enum": ["Strict", "Permissive"], "description": "Mode says\nwhat. Strict: 401."},
		"use": {"type": "array", "items": {"type": "string"}},
		"audiences": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
		"context": {"type": "object", "additionalProperties": {"type": "string"}},
		"from": {"type": "array", "items": {"type": "object", "properties": {"header": {"type": "string"}}}},
		"providers": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {
			"type": "object", "properties": {"name": {"type": "string"}, "jwks": {"type": "object",
				"x-kubernetes-map-type": "atomic", "properties": {"inline": {"type": "string"}}}}}}}}`)}) {
		fmt.Fprintln(&got, strings.TrimSpace(fmt.Sprintf("%s: %s. %s", f.Path, f.Merges, f.Description)))
	}
	const want = "jwt.audiences: added up.\njwt.context: itself.\n" +
		"jwt.from[].header: with all of `jwt.from`.\njwt.mode: itself. Mode says what. Strict: 401. " +
		"One of `Strict`, `Permissive`.\n" +
		"jwt.providers[].jwks.inline: with all of `jwt.providers[].jwks`.\njwt.providers[].name: the key.\njwt.use: itself.\n"
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}

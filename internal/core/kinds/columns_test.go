package kinds

import (
	"testing"

	"cardea.dev/cardea/internal/core/kind"
)

func TestAcceptedColumn(t *testing.T) {
	route := func(conditions ...any) kind.JSONObject {
		return kind.JSONObject{"status": map[string]any{"parents": []any{map[string]any{"conditions": conditions}}}}
	}
	is := func(kind, status string) map[string]any { return map[string]any{"type": kind, "status": status} }
	for want, o := range map[string]kind.JSONObject{
		"True":      route(is("Accepted", "True")),
		"False":     route(is("Accepted", "False")),
		"Partially": route(is("Accepted", "True"), is("PartiallyInvalid", "True")),
	} {
		if got := routeAccepted(o); got != want {
			t.Errorf("%v: %q, want %q", o, got, want)
		}
	}
}

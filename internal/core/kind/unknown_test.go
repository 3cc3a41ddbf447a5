package kind

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// TestUnknown: what is known of a spec is read, and the fields that are not are named.
func TestUnknown(t *testing.T) {
	var list []string
	for i := range 2 * maxUnknownFields {
		list = append(list, fmt.Sprintf(`"x%d":1`, i))
	}
	for text, want := range map[string][]string{
		`{"rules":[{"matches":[{"path":{"value":"/a"}}]}]}`: nil,
		`{"rules":[{"matches":[{"path":{"value":"/a","x":1},"y":{"z":1}}],"v":[]}],"w":null}`: {
			"rules[0].matches[0].path.x", "rules[0].matches[0].y", "rules[0].v", "w",
		},
		`{"rules":[{"matches":[{"path":{"value":"/a"}}]}],` + strings.Join(list, ",") + `}`: {model.MoreUnknown},
	} {
		var s decodedSpec[gatewayv1.HTTPRouteSpec]
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		got := s.unknown[max(0, len(s.unknown)-4):]
		if want != nil && want[0] == model.MoreUnknown {
			got = got[3:]
		}
		if slices.Sort(got); !slices.Equal(got, want) || *s.known.Rules[0].Matches[0].Path.Value != "/a" {
			t.Errorf("%.100s: %v, want %v", text, got, want)
		}
	}
}

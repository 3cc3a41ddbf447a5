package resolve

import (
	"reflect"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

func TestHostnames(t *testing.T) {
	for _, c := range []struct {
		listener string
		route    []string
		want     []model.Domain
	}{
		{"", nil, []model.Domain{{Name: "*", Original: "*"}}},
		{"a.example.com", nil, []model.Domain{{Name: "a.example.com", Original: "*"}}},
		{"", []string{"a.example.com"}, []model.Domain{{Name: "a.example.com", Original: "a.example.com"}}},
		{"*.example.com", []string{"a.example.com", "example.com", "a.b.example.com"},
			[]model.Domain{{Name: "a.example.com", Original: "a.example.com"},
				{Name: "a.b.example.com", Original: "a.b.example.com"}}},
		{"a.example.com", []string{"*.example.com", "*.com"},
			[]model.Domain{{Name: "a.example.com", Original: "*.example.com"}}},
		{"a.example.com", []string{"*.com", "a.example.com"},
			[]model.Domain{{Name: "a.example.com", Original: "a.example.com"}}},
		{"*.example.com", []string{"*.com"}, []model.Domain{{Name: "*.example.com", Original: "*.com"}}},
		{"*.example.com", []string{"*.b.example.com"},
			[]model.Domain{{Name: "*.b.example.com", Original: "*.b.example.com"}}},
		{"a.example.com", []string{"b.example.com"}, nil},
		{"*.example.com", []string{"notexample.com", "x.notexample.com"}, nil},
		{"A.Example.com", []string{"a.example.COM"}, []model.Domain{{Name: "a.example.com", Original: "a.example.com"}}},
	} {
		if got := IntersectHostnames(c.listener, c.route); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Hostnames(%q, %q) = %v, want %v", c.listener, c.route, got, c.want)
		}
	}
}

package resolve

import (
	"reflect"
	"testing"
)

func TestHostnames(t *testing.T) {
	for _, c := range []struct {
		listener string
		route    []string
		want     []Domain
	}{
		{"", nil, []Domain{{"*", "*"}}},
		{"a.example.com", nil, []Domain{{"a.example.com", "*"}}},
		{"", []string{"a.example.com"}, []Domain{{"a.example.com", "a.example.com"}}},
		{"*.example.com", []string{"a.example.com", "example.com", "a.b.example.com"},
			[]Domain{{"a.example.com", "a.example.com"}, {"a.b.example.com", "a.b.example.com"}}},
		{"a.example.com", []string{"*.example.com", "*.com"}, []Domain{{"a.example.com", "*.example.com"}}},
		{"a.example.com", []string{"*.com", "a.example.com"}, []Domain{{"a.example.com", "a.example.com"}}},
		{"*.example.com", []string{"*.com"}, []Domain{{"*.example.com", "*.com"}}},
		{"*.example.com", []string{"*.b.example.com"}, []Domain{{"*.b.example.com", "*.b.example.com"}}},
		{"a.example.com", []string{"b.example.com"}, nil},
		{"*.example.com", []string{"notexample.com", "x.notexample.com"}, nil},
		{"A.Example.com", []string{"a.example.COM"}, []Domain{{"a.example.com", "a.example.com"}}},
	} {
		if got := Hostnames(c.listener, c.route); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Hostnames(%q, %q) = %v, want %v", c.listener, c.route, got, c.want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		wide, narrow string
		want         bool
	}{
		{"*", "*.com", true}, {"*.com", "*", false}, {"*.com", "a.com", true}, {"*.com", "com", false},
		{"*.a.com", "*.b.a.com", true}, {"*.b.a.com", "*.a.com", false}, {"*.a.com", "*.a.com", true},
		{"*.a.com", "a.com", false}, {"*.a.com", "ba.com", false}, {"a.com", "*.a.com", false},
	} {
		if got := Covers(c.wide, c.narrow); got != c.want {
			t.Errorf("Covers(%q, %q) = %v", c.wide, c.narrow, got)
		}
	}
}

func TestWider(t *testing.T) {
	for _, c := range []struct {
		domain, listener string
		want             []string
	}{
		{"a.b.com", "", []string{"*.b.com", "*.com", "*"}},
		{"*.b.com", "", []string{"*.com", "*"}},
		{"*", "", nil},
		{"host", "", []string{"*"}},
		{"a.b.com", "a.b.com", nil},
		{"a.b.com", "*.b.com", []string{"*.b.com"}},
		{"x.a.b.com", "*.b.com", []string{"*.a.b.com", "*.b.com"}},
	} {
		if got := Wider(c.domain, c.listener); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Wider(%q, %q) = %q, want %q", c.domain, c.listener, got, c.want)
		}
	}
}

package model

import (
	"reflect"
	"testing"
)

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		wide, narrow string
		want         bool
	}{
		{"*", "*.com", true}, {"*.com", "*", false}, {"*.com", "a.com", true}, {"*.com", "com", false},
		{"*.a.com", "*.b.a.com", true}, {"*.b.a.com", "*.a.com", false}, {"*.a.com", "*.a.com", true},
		{"*.a.com", "a.com", false}, {"*.a.com", "ba.com", false}, {"a.com", "*.a.com", false},
	} {
		if got := DomainCovers(c.wide, c.narrow); got != c.want {
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
		if got := WiderDomains(c.domain, c.listener); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Wider(%q, %q) = %q, want %q", c.domain, c.listener, got, c.want)
		}
	}
}

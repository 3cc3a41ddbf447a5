package resolve

import "testing"

func TestVouches(t *testing.T) {
	for _, c := range []struct {
		name, hostname string
		want           bool
	}{
		{"shop.example", "shop.example", true}, {"Shop.Example.", "shop.example", true},
		{"shop.example", "www.shop.example", false}, {"www.shop.example", "shop.example", false},
		{"*.shop.example", "www.shop.example", true}, {"*.shop.example", "shop.example", false},
		{"*.shop.example", "a.b.shop.example", false}, {"*.example", "shop.example", true},
		{"w*.shop.example", "www.shop.example", true}, {"w*.shop.example", "api.shop.example", false},
		{"*.shop.example", "*.shop.example", true}, {"www.shop.example", "*.shop.example", true},
		{"a.b.shop.example", "*.shop.example", true}, {"*.b.shop.example", "*.shop.example", true},
		{"shop.example", "*.shop.example", false}, {"*.example", "*.shop.example", false},
		{"*.example", "shop.other", false}, {"", "shop.example", false}, {"localhost", "localhost", true},
		{"www.shop.example", "*", true},
	} {
		if got := NameCovers(c.name, c.hostname); got != c.want {
			t.Errorf("Vouches(%q, %q) = %v", c.name, c.hostname, got)
		}
	}
}

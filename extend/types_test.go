package extend

import (
	"math"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

func TestDuration(t *testing.T) {
	for text, want := range map[gatewayv1.Duration]time.Duration{
		"0s": 0, "1h30m": 90 * time.Minute, "250ms": 250 * time.Millisecond, "99999h": 99999 * time.Hour,
	} {
		if got, err := Duration(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []gatewayv1.Duration{"", "1", "-1s", "1.5s", "1us", "100000s", "1d", "1s1s1s1s1s"} {
		if got, err := Duration(text); err == nil {
			t.Errorf("%s is taken as %v", text, got)
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]uint32{"0": 0, "64Ki": 65536, "1k": 1000, "4294967295": math.MaxUint32} {
		if got, err := Size32(resource.MustParse(text)); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"-1", "100m", "4Gi", "100E"} {
		if got, err := Size32(resource.MustParse(text)); err == nil {
			t.Errorf("%s is taken as %d", text, got)
		}
	}
}

func TestPercent(t *testing.T) {
	of := func(n int32) *int32 { return &n }
	for _, c := range []struct {
		share gatewayv1.Fraction
		want  uint32
	}{
		{gatewayv1.Fraction{Numerator: 50}, 500_000},
		{gatewayv1.Fraction{Numerator: 1, Denominator: of(3)}, 333_333},
		{gatewayv1.Fraction{Numerator: 1, Denominator: of(math.MaxInt32)}, 1},
		{gatewayv1.Fraction{Numerator: math.MaxInt32, Denominator: of(math.MaxInt32)}, 1_000_000},
		{gatewayv1.Fraction{}, 0},
	} {
		if got, err := Percent(c.share); err != nil || got != c.want {
			t.Errorf("%+v: %v, %v", c.share, got, err)
		}
	}
	for _, share := range []gatewayv1.Fraction{{Numerator: 101}, {Numerator: -1}, {Denominator: of(0)}} {
		if got, err := Percent(share); err == nil {
			t.Errorf("%+v is taken as %v", share, got)
		}
	}
}

// TestUnions: one member is stated, and is valid.
func TestUnions(t *testing.T) {
	bits := func(n int32) *int32 { return &n }
	name, bad, path, yes := "x-a", "a b", "/a", true
	ttl, wrong, none := gatewayv1.Duration("1h"), gatewayv1.Duration("x"), SameSite("None")
	for i, c := range []struct {
		problems []Problem
		want     string // a field, "-" if nothing is wrong
	}{
		{RequestDimension{Header: &name}.Validate(), "-"},
		{RequestDimension{ClientAddress: &AddressDimension{PrefixV4: bits(24)}}.Validate(), "-"},
		{RequestDimension{ClientAddress: &AddressDimension{PrefixV6: bits(129)}}.Validate(), "clientAddress.prefixV6"},
		{RequestDimension{}.Validate(), ""},
		{RequestDimension{User: &Empty{}, Method: &Empty{}}.Validate(), ""},
		{RequestDimension{Header: &bad}.Validate(), "header"},
		{RequestDimension{Claim: new(string)}.Validate(), "claim"},
		{HashKey{Cookie: &HashCookie{Name: name}}.Validate(), "-"},
		{HashKey{Cookie: &HashCookie{Name: name, TTL: &ttl, Secure: &yes, SameSite: &none, Path: &path}}.Validate(), "-"},
		{HashKey{Cookie: &HashCookie{Name: bad}}.Validate(), "cookie.name"},
		{HashKey{Cookie: &HashCookie{Name: name, Path: &path}}.Validate(), "cookie"},
		{HashKey{Cookie: &HashCookie{Name: name, TTL: &ttl, Path: &name}}.Validate(), "cookie.path"},
		{HashKey{Cookie: &HashCookie{Name: name, TTL: &ttl, SameSite: &none}}.Validate(), "cookie.sameSite"},
		{HashKey{Cookie: &HashCookie{Name: name, TTL: &wrong}}.Validate(), "cookie.ttl"},
		{HashKey{Query: new(string)}.Validate(), "query"},
		{HashKey{}.Validate(), ""},
		{StringMatch{Type: RegularExpression, Value: "a|b", IgnoreCase: true}.Validate(), "-"},
		{StringMatch{Type: RegularExpression, Value: "("}.Validate(), "value"},
		{StringMatch{Type: Exact}.Validate(), "value"},
		{StringMatch{Type: Present, Value: "a"}.Validate(), "type"},
		{StringMatch{Type: "", Value: "a"}.Validate(), "type"},
	} {
		if len(c.problems) == 0 && c.want != "-" || len(c.problems) == 1 && c.problems[0].Field != c.want ||
			len(c.problems) > 1 {
			t.Errorf("%d: %+v, want %q", i, c.problems, c.want)
		}
	}
	if !(RequestDimension{User: &Empty{}}).NeedsIdentity() || (RequestDimension{Path: &Empty{}}).NeedsIdentity() {
		t.Error("a user needs an identity, a path does not")
	}
}

package ratelimits

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

// told is a Reader that notes what it is told.
type told struct {
	extend.Reader
	path, owner string
	list        *[]string
}

func (r told) Field(path string) extend.Reader {
	r.path += "." + path
	return r
}
func (r told) Refuse(message string) { *r.list = append(*r.list, r.path+": "+message) }
func (r told) Warn(message string)   { r.Refuse("warning: " + message) }
func (r told) Owner() string         { return r.owner }

func (told) IdentityHeaders() []string { return []string{"x-client"} }

func readAs(owner string, limits ...Limit) (Value, []string) {
	var list []string
	v := readSpec(told{owner: owner, list: &list}, limits)
	return v, list
}

func perHour(name string, requests int64) Limit {
	return Limit{Name: name, Requests: &requests, Interval: new(gatewayv1.Duration("1h"))}
}

// TestIDs: counters are those of the policy that states a limit: another policy, name or content has others, and who
// reads the same has the same.
func TestIDs(t *testing.T) {
	ids := map[string]bool{}
	for _, of := range []struct {
		owner string
		limit Limit
	}{{"a", perHour("x", 1)}, {"b", perHour("x", 1)}, {"a", perHour("y", 1)}, {"a", perHour("x", 2)}} {
		first, _ := readAs(of.owner, of.limit)
		again, _ := readAs(of.owner, of.limit)
		if first.Limits[0].ID != again.Limits[0].ID {
			t.Errorf("%s and %s", first.Limits[0].ID, again.Limits[0].ID)
		}
		ids[first.Limits[0].ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("four limits have %d IDs", len(ids))
	}
}

// TestRead: what can't be served is left out and says why, what is lifted is left out, and all others hold.
func TestRead(t *testing.T) {
	lifted := perHour("lifted", 1)
	lifted.Unlimited = new(true)
	for want, change := range map[string]func(*Limit){
		"no requests":                func(l *Limit) { l.Requests = nil },
		"would reject every request": func(l *Limit) { l.Requests = new(int64(0)) },
		".burst: 0":                  func(l *Limit) { l.Burst = new(int64(0)) },
		"no interval":                func(l *Limit) { l.Interval = nil },
		"too short":                  func(l *Limit) { l.Interval = new(gatewayv1.Duration("49ms")) },
		"not a duration":             func(l *Limit) { l.Interval = new(gatewayv1.Duration("1y")) },
		"Global is not":              func(l *Limit) { l.Scope = Global },
		"more than burst":            func(l *Limit) { l.Cost = &Cost{Request: &CostSource{Number: new(int64(4))}} },
		"state one":                  func(l *Limit) { l.Per = []extend.RequestDimension{{}} },
		"count by it": func(l *Limit) {
			l.Per = []extend.RequestDimension{{Header: new("a%b")}}
		},
		"not known before authentication": func(l *Limit) {
			l.At, l.Per = BeforeAuthentication, []extend.RequestDimension{{User: &extend.Empty{}}}
		},
	} {
		bad := perHour("bad", 3)
		change(&bad)
		v, said := readAs("a", bad, perHour("good", 3), lifted)
		if len(v.Limits) != 1 || v.Limits[0].Name != "good" {
			t.Errorf("%s: left are %+v", want, v.Limits)
		}
		if len(said) != 1 || !strings.Contains(said[0], want) || !strings.HasPrefix(said[0], ".[bad]") {
			t.Errorf("%q, want %q", said, want)
		}
	}
}

// TestWhereLimitsCount: what needs an identity counts after authentication, all else before; each scope has its slot.
func TestWhereLimitsCount(t *testing.T) {
	for want, change := range map[extend.Slot]func(*Limit){
		extend.SlotLimitsEarly:      func(*Limit) {},
		extend.SlotLimitsEarlyProxy: func(l *Limit) { l.Scope = Proxy },
		extend.SlotLimitsLate:       func(l *Limit) { l.Per = []extend.RequestDimension{{Claim: new("sub")}} },
		extend.SlotLimitsLateProxy:  func(l *Limit) { l.Scope, l.At = Proxy, AfterAuthentication },
	} {
		l := perHour("x", 1)
		change(&l)
		if v, said := readAs("a", l); len(said) > 0 || v.Limits[0].filterSlot() != want {
			t.Errorf("%+v, %v; want %s", v.Limits, said, want)
		}
	}
}

// TestJudge: of a limit it can't be told whether it is used up; one in shadow mode would refuse, and one that counts
// other requests answers nothing.
func TestJudge(t *testing.T) {
	late, shadow, address := perHour("late", 1), perHour("shadow", 1), perHour("address", 100)
	late.At, shadow.Mode, address.Interval = AfterAuthentication, Shadow, new(gatewayv1.Duration("90s"))
	address.Per = []extend.RequestDimension{{ClientAddress: &extend.AddressDimension{}}, {Method: &extend.Empty{}}}
	address.When = []extend.RequestMatch{{RequestParts: extend.RequestParts{Methods: []string{"POST"}}}}
	v, said := readAs("a", late, shadow, address)
	got := judgeRequest(extend.Request{Method: "POST"}, v)
	want := []extend.Verdict{
		{Status: 429, RefusedIf: "limit shadow (1 per 1h) is used up", Shadow: "rateLimits[shadow] in mode Shadow",
			At: "limits-early"},
		{Status: 429, RefusedIf: "limit address (100 per 1m30s for each client address and method, of requests with method " +
			"POST) is used up", ByAddress: true, At: "limits-early"},
		{Status: 429, RefusedIf: "limit late (1 per 1h) is used up", At: "limits-late"},
	}
	if len(said) > 0 || !slices.Equal(got, want) {
		t.Errorf("%+v %v, want %+v", got, said, want)
	}
	if got = judgeRequest(extend.Request{Method: "GET"}, v); len(got) != 2 || got[1] != want[2] {
		t.Errorf("of another method: %+v, want %+v", got, want[2])
	}
}

func TestIntervalWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", time.Minute: "1m", 50 * time.Millisecond: "50ms", 10 * time.Second: "10s",
		100 * time.Minute: "1h40m", 10 * time.Hour: "10h",
	} {
		if got := formatInterval(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

// TestAbsent: what a request may not have is its value or the client's address, and Together one text; what each
// request has is itself.
func TestAbsent(t *testing.T) {
	header, user, path := extend.RequestDimension{Header: new("x-a")}, extend.RequestDimension{User: &extend.Empty{}},
		extend.RequestDimension{Path: &extend.Empty{}}
	value := func(s descriptorShape, d extend.RequestDimension) string {
		return s.dimensionAction("0", d).GetRemoteAddressMatch().GetDescriptorValue()
	}
	const orAddress = `{"command":"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT","param":"64"}]})%`
	if got, want := value(descriptorShape{}, header),
		`%REQ(x-a)%/%COALESCE({"operators":[{"command":"REQ","param":"x-a"},`+orAddress; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := value(descriptorShape{}, user); !strings.HasSuffix(got, orAddress) {
		t.Errorf("a user is %s", got)
	}
	if got := value(descriptorShape{Together: true}, header) + value(descriptorShape{},
		path); got != "%REQ(x-a)%%PATH(NQ)%" {
		t.Error(got)
	}
}

// TestShapes: limits that count by the same parts have one shape, and so what Envoy does for each request does not grow
// with their number.
func TestShapes(t *testing.T) {
	a, b, c := perHour("a", 1), perHour("b", 2), perHour("c", 1)
	a.Per, b.Per = []extend.RequestDimension{{Header: new("x")}}, []extend.RequestDimension{{Header: new("x")}}
	v, _ := readAs("a", a, b, c)
	shapes := fmt.Sprint(v.Limits[0].buildShape().hashID() == v.Limits[1].buildShape().hashID(),
		v.Limits[0].buildShape().hashID() == v.Limits[2].buildShape().hashID())
	if shapes != "true false" {
		t.Error(shapes)
	}
}

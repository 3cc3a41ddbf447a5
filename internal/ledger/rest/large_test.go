package rest_test

import (
	"fmt"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Who may read everything asks about as much as they want; others, also those without any grant, about 1,000 objects.
func TestLargeQuestionsAreForWhoMayReadAll(t *testing.T) {
	r := newRig(t)
	r.create("a", "a.example")
	keys := func(n int) (list []ledger.Key) {
		for i := range n {
			list = append(list, ledger.Key{Target: "default", Group: "gateway.networking.k8s.io", Kind: "HTTPRoute",
				Namespace: "shop", Name: fmt.Sprint("r", i)})
		}
		return list
	}
	for _, c := range []call{
		{method: "GET", path: "/status?limit=1001"},
		{method: "POST", path: "/status/query", body: wire.StatusQuery{Limit: 1001}},
		{method: "POST", path: "/status/query", body: wire.StatusQuery{Keys: keys(1001)}},
		{method: "POST", path: "/objects/query", body: wire.ObjectsQuery{Keys: keys(1001)}},
	} {
		for _, who := range []string{"bob", "carol"} {
			c.who = who
			r.do(c).problem(413, ledger.TooLarge)
		}
		c.who = "alice"
		r.do(c).is(200, nil)
	}
	for _, c := range []call{
		{method: "GET", path: "/status?limit=1000"}, {method: "GET", path: "/status?change=1&limit=20000"},
		{method: "POST", path: "/objects/query", body: wire.ObjectsQuery{Keys: keys(1000)}},
	} {
		c.who = "carol"
		r.do(c).is(200, nil)
	}
}

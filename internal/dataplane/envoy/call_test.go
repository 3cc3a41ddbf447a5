package envoy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// call is a request through the proxy, and what came of it.
type call struct {
	Method string // GET if empty
	Host   string
	URI    string
	Header map[string]string
}

type answer struct {
	Status int
	Header http.Header
	Seen   seen // if a backend answered
}

func (c call) do(t *testing.T, port int32) answer {
	t.Helper()
	req, err := http.NewRequest(c.Method, fmt.Sprintf("http://127.0.0.1:%d%s", port, c.URI), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = c.Host
	for k, v := range c.Header {
		req.Header.Set(k, v)
	}
	resp, err := client(t, nil).Transport.RoundTrip(req) // which reads nothing into Location
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	a := answer{Status: resp.StatusCode, Header: resp.Header}
	if resp.Header.Get("From-Backend") != "" {
		if err := json.NewDecoder(resp.Body).Decode(&a.Seen); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func TestRequestReachesABackend(t *testing.T) {
	w, bind := newWorld(t), freePort(t)
	w.apply(func(b *flow.Batch) {
		w.addPort(b, 80, bind, model.HTTP, testListener("http", ""))
		w.addBackend(b, service("web"), startBackend(t, "web"))
		w.serve(b, 1, 80, "http", "shop.example", model.Rule{
			Key:      testRuleKey("rule"),
			Matches:  []model.Match{{Path: model.PathMatch{Type: model.PathPrefix, Value: "/a"}}},
			Backends: []model.WeightedBackend{{Backend: service("web"), Weight: 1}},
		})
	})
	startProxy(t, w.resources())
	for _, c := range []struct {
		call
		status int
	}{
		{call{Host: "shop.example", URI: "/a/b?c=d"}, 200},
		{call{Host: "shop.example:8080", URI: "/a"}, 200},
		{call{Host: "shop.example", URI: "/ab"}, 404},
		{call{Host: "other.example", URI: "/a"}, 404},
	} {
		a := c.do(t, bind)
		if a.Status != c.status {
			t.Errorf("%+v: status %d, want %d", c.call, a.Status, c.status)
		}
		if a.Status == 200 && (a.Seen.Host != c.Host || a.Seen.URI != c.URI) {
			t.Errorf("%+v: the backend saw %+v", c.call, a.Seen)
		}
	}
}

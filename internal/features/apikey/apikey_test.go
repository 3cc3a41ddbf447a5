package apikey

import (
	"net/http"
	"testing"

	"cardea.dev/cardea/extend"
)

// TestJudge: a request without a key is refused for certain. Of one with a key it can't be told: keys are secret.
func TestJudge(t *testing.T) {
	v := Value{Secrets: []string{"keys"}, From: []Source{{Header: "x-key"}, {Query: "k"}, {Cookie: "c"}}}
	for _, of := range []struct {
		q       extend.Request
		certain bool
	}{
		{extend.Request{Path: "/?key=1", Header: http.Header{"Cookie": {"d=1"}}}, true},
		{extend.Request{Path: "/", Header: http.Header{"X-Key": {"1"}}}, false},
		{extend.Request{Path: "/?a=b&k=1", Header: http.Header{}}, false},
		{extend.Request{Path: "/", Header: http.Header{"Cookie": {"a=b; c=1"}}}, false},
	} {
		got := judgeRequest(of.q, v)
		if len(got) != 1 || got[0].Status != 401 || (got[0].If == "") != of.certain {
			t.Errorf("%+v: %+v", of.q, got)
		}
	}
	v.Clients = []string{"a"}
	if got := judgeRequest(extend.Request{Path: "/?k=1"}, v); len(got) != 2 || got[1].Status != 403 {
		t.Errorf("of clients: %+v", got)
	}
}

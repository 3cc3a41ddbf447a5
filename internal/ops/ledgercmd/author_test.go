package ledgercmd

import (
	"context"
	"strings"
	"testing"
)

const webRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec: {parentRefs: [{name: edge}]}
`

// At a server, who makes a change is who the token is of: another name is refused before anything is asked. Where
// --author chooses what is shown, it does so there, too.
func TestAuthorOverHTTP(t *testing.T) {
	r := newRig(t)
	r.file = "http://127.0.0.1:1"
	folder := r.write("in/web.yaml", webRoute)
	for _, args := range [][]string{{"apply", folder}, {"delete", "httproute", "web"}, {"propose", folder},
		{"approve", "1"}, {"commit", "1"}, {"undo", "1"}} {
		r.has(r.refused(append(args, "--author", "alice")...), "--author alice", "takes the author from the token")
	}
	_, err := r.try(context.Background(), "history", "--author", "alice")
	if err == nil || strings.Contains(err.Error(), "--author") {
		t.Errorf("history: %v", err)
	}
	r = newRig(t)
	r.has(r.run("apply", r.write("in/web.yaml", webRoute), "--author", "alice"), "change 1")
	r.has(r.run("history"), "alice")
}

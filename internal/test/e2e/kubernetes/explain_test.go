package kubernetes

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/ops/explain"
)

// forward brings the admin API of the cluster's Cardea to this machine, as docs/kubernetes.md says.
func (s shell) forward() {
	s.Helper()
	s.controller()
	cmd := exec.Command("kubectl", "port-forward", "-n", system, "deploy/cardea", "9900")
	cmd.Dir, cmd.Env = s.root, s.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if said = append(said, lines.Text()); strings.HasPrefix(lines.Text(), "Forwarding from 127.0.0.1:9900 ") {
			return
		}
	}
	s.Fatalf("kubectl port-forward: %s", strings.Join(said, "\n"))
}

// TestExplain asks the Cardea of the cluster, by a port-forward, as docs/explain.md has it: why a request goes where it
// goes, who brought that and who acknowledged it, and what became of the route; and again after an edit by somebody
// else, who wants what can't be.
func TestExplain(t *testing.T) {
	s := newShell(newStage(t))
	if out, err := s.run("kubectl apply -f examples/kubernetes/first-gateway.yaml"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s.gets(s.address("first"), "any.example", "/hello", func(a answer) bool { return a.Status == 200 })
	s.live("whoami")
	s.forward()
	for _, block := range s.blocks("docs/explain.md", "In a cluster") {
		s.play(strings.NewReplacer("$ cardea ", "$ bin/cardea ", "default", s.namespace).Replace(block))
	}

	question := " http://any.example/cart --gateway " + s.namespace + "/first"
	var story explain.Story
	s.asks(&story, "cardea explain -o json"+question)
	if o := story.Outcomes; len(o) != 1 || o[0].Backend != "Service "+s.namespace+"/whoami port 80" ||
		len(o[0].Endpoints) != 2 {
		t.Errorf("outcomes %+v, want two endpoints of whoami", o)
	}
	if r := story.Rules; len(r) != 1 || !r[0].Live.Acknowledged || r[0].Live.Proxies != 1 ||
		r[0].Edit.By != "kubectl-client-side-apply" {
		t.Errorf("rules %+v, want one that a proxy has acknowledged, by kubectl", r)
	}

	s.step("somebody else edits the route")
	patch := []byte(`{"spec": {"rules": [{"backendRefs": [{"name": "nobody", "port": 80}]}]}}`)
	_, err := s.api.GatewayV1().HTTPRoutes(s.namespace).
		Patch(context.Background(), "whoami", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody-else"})
	if err != nil {
		t.Fatal(err)
	}
	s.until("the story of the route follows the edit", func() (string, bool) {
		var o explain.Object
		s.asks(&o, "cardea explain -o json httproute/whoami -n "+s.namespace)
		return statusText(o), o.Edit != nil && o.Edit.By == "somebody-else" && o.Stages.Acknowledged != nil &&
			len(o.Findings) == 1 &&
			strings.Contains(o.Findings[0], "Service "+s.namespace+"/nobody")
	})
	out, err := s.run("bin/cardea explain" + question)
	if err != nil || !strings.Contains(out, "500, by the proxy") || !strings.Contains(out, "by somebody-else at ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// asks runs a command that prints JSON, and reads it.
func (s shell) asks(into any, line string) {
	s.Helper()
	out, err := s.run("bin/" + line)
	if err == nil {
		err = json.Unmarshal([]byte(out), into)
	}
	if err != nil {
		s.Fatalf("$ %s\n%s%v", line, out, err)
	}
}

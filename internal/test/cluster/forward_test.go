package cluster_test

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestPortForward reaches a pod as `kubectl port-forward` does, again and again, and no port that nobody has opened.
func TestPortForward(t *testing.T) {
	if _, err := exec.LookPath("kubectl"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	p := newPlace(t)
	p.pod("echo", "", echo)
	p.until("echo", ready)
	cmd := exec.Command("kubectl", "--kubeconfig", p.Kubeconfig, "--namespace", p.namespace, "port-forward", "pod/echo",
		":3000", ":3333")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	local := map[string]string{} // by port of the pod
	forwarding := regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+) -> (\d+)`)
	for lines := bufio.NewScanner(out); len(local) < 2 && lines.Scan(); {
		if m := forwarding.FindStringSubmatch(lines.Text()); m != nil {
			local[m[2]] = m[1]
		}
	}
	if len(local) < 2 {
		t.Fatalf("kubectl forwards %v", local)
	}
	for range 3 {
		p.answers(local["3000"], `"echo"`)
	}
	if body, err := get(local["3333"]); err == nil {
		t.Errorf("where nobody listens there is an answer: %s", body)
	}
}

package examples

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

var turn = regexp.MustCompile(
	`(?m)^\w+ to the (\w+) +(\d): (\S+) had (\d+) of \d+ tokens cached; total .*prefix (\S+),`,
)

// TestInference runs the example of a pool of model servers as its README says: each conversation stays at the server
// that has its beginning, and so do two that begin alike.
func TestInference(t *testing.T) {
	t.Parallel()
	var ports []string
	var held []net.Listener // so that each port is another one
	for range 4 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, free)
		ports = append(ports, strconv.Itoa(free.Addr().(*net.TCPAddr).Port))
	}
	program := e2e.Build(t)
	for _, l := range held {
		l.Close()
	}
	run := exec.CommandContext(t.Context(), "inference/run.sh")
	run.Env = append(os.Environ(), "PORT="+ports[0], "SERVERS="+strings.Join(ports[1:], " "), "CARDEA="+program)
	out, err := run.CombinedOutput()
	turns := turn.FindAllStringSubmatch(string(out), -1)
	if err != nil || len(turns) != 12 {
		t.Fatalf("%v: %d turns in\n%s", err, len(turns), out)
	}
	servers := map[string]string{}
	for i, m := range turns {
		assistant, number, server, cached, prefix := m[1], m[2], m[3], m[4], m[5]
		first := i < 2 // with this assistant
		if first {
			servers[assistant] = server
		}
		if server != servers[assistant] || (cached == "0") != first || (prefix == "0") != first {
			t.Errorf("%s, turn %s: %q, want it at %s", assistant, number, m[0], servers[assistant])
		}
	}
	const sum = "12 requests had prompts of 2492 tokens; the servers had 1680 of them cached: 67%\n"
	if !strings.HasSuffix(string(out), sum) {
		t.Errorf("want at the end: %s", sum)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// TestInferenceThatDoesNotStart: the example says why Cardea does not start.
func TestInferenceThatDoesNotStart(t *testing.T) {
	t.Parallel()
	run := exec.CommandContext(t.Context(), "inference/run.sh")
	run.Env = append(os.Environ(), "PORT=88080", "SERVERS=0 0 0", "CARDEA="+e2e.Build(t))
	out, err := run.CombinedOutput()
	if err == nil || err.Error() != "exit status 1" || !strings.Contains(string(out), "--port-offset 80000: want") {
		t.Errorf("%v\n%s\nwant exit status 1, and why", err, out)
	}
}

package examples

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
)

// TestAgents runs the example of agents as its README says: a real server of tools, and two agents with certificates.
func TestAgents(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	run := exec.CommandContext(t.Context(), "agents/run.sh")
	run.Env = append(os.Environ(), "PORT="+strconv.Itoa(port), "CARDEA="+e2e.Build(t))
	out, err := run.CombinedOutput()
	const refused = `  -> error: calling "tools/call": Access to this tool is forbidden.` + "\n"
	for _, want := range []string{
		"XBackend agents/tools has 3 tools\n", "get-sum   agents/tools/sums", "get-env   agents/tools/no-secrets",
		"  -> get-sum\n  -> 3\n" + refused + refused, "  -> order\n" + refused + "  -> ordered 10 of tea\n" + refused,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%v: want\n%s\nin\n%s", err, want, out)
		}
	}
}

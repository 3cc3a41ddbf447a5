package examples

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// TestLedger runs the example of a ledger as its README says: traffic follows each change, and the way back.
func TestLedger(t *testing.T) {
	t.Parallel()
	ledgerExample(t)
}

func ledgerExample(t *testing.T, env ...string) {
	t.Helper()
	backend := t.TempDir() + "/backend"
	if out, err := exec.Command("go", "build", "-o", backend, "./backend").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env = append(env, "CARDEA="+e2e.Build(t), "BACKEND="+backend)
	for _, name := range []string{"PORT", "BLUE", "GREEN"} {
		free, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strconv.Itoa(free.Addr().(*net.TCPAddr).Port))
		free.Close()
	}
	run := exec.CommandContext(t.Context(), "ledger/run.sh")
	run.Env = append(os.Environ(), env...)
	out, err := run.CombinedOutput()
	story := regexp.MustCompile(`(?s)change 1 is live.*"name": "blue".*` +
		`requests that would go elsewhere \(1\).*before: XBackend quickstart/blue.*after:  XBackend quickstart/green.*` +
		`change 2 is live.*"name": "green".*history.*green takes all.*-      name: blue.*\+      name: green.*` +
		`change 3 is live.*"name": "blue".*undo 2 `)
	if err != nil || !story.Match(out) {
		t.Errorf("%v: want %s in\n%s", err, story, out)
	}
}

// TestLedgerPostgreSQL does the same with a real PostgreSQL.
func TestLedgerPostgreSQL(t *testing.T) {
	t.Parallel()
	ledgerExample(t, "LEDGER="+postgrestest.New(t))
}

func TestMain(m *testing.M) { postgrestest.Main(m) }

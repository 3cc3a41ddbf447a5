package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/test/postgrestest"
)

// restoring are the steps of docs/ledger.md: a file's backup and restore, and PostgreSQL's.
func restoring(t *testing.T) (steps [4][]string) {
	t.Helper()
	text, err := os.ReadFile("../../../../docs/ledger.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Restoring a backup\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)\n```").FindAllStringSubmatch(section, -1)
	if len(blocks) != len(steps) {
		t.Fatalf("the page has %d blocks about restoring", len(blocks))
	}
	for i, b := range blocks {
		steps[i] = strings.Split(b[1], "\n")
	}
	return steps
}

// shell runs commands of the page.
func (s *ledgerStage) shell(commands []string, path ...string) {
	s.t.Helper()
	for _, c := range commands {
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(c, "postgres://USER@HOST/DATABASE", "'"+s.url+"'"))
		cmd.Dir = filepath.Dir(s.url)
		if strings.HasPrefix(s.url, "postgres:") {
			cmd.Dir = s.Dir
		}
		path := append(path, filepath.Dir(s.binary), os.Getenv("PATH"))
		cmd.Env = append(os.Environ(), "CARDEA_LEDGER="+s.url, "PATH="+strings.Join(path, string(os.PathListSeparator)))
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("$ %s: %v\n%s", c, err, out)
		}
	}
}

// TestLedgerRestoredFile: who has a ledger's file open that is replaced goes on serving what it has, and says so. After
// the steps of the page the backup serves.
func TestLedgerRestoredFile(t *testing.T) {
	t.Parallel()
	steps := restoring(t)
	s := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"), shop())
	s.run(0, "apply", ".", "--wait")
	s.shell(steps[0])
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.run(0, "apply", ".", "--wait")
	s.expect("GET http://shop.example/ -> 200 green")

	moved := s.url + ".moved"
	s.rename(s.url, moved)
	e2e.Eventually(t, func() error { return s.finds(true, "was deleted or moved while it was open") })
	s.rename(moved, s.url)
	e2e.Eventually(t, func() error { return s.finds(false, "was deleted or moved while it was open") })
	s.shell(steps[1][:3])
	e2e.Eventually(t, func() error { return s.finds(true, "was replaced while it was open") })
	s.expect("GET http://shop.example/ -> 200 green")

	s.Stop(t)
	s.shell(steps[1])
	s.serve()
	s.expect("GET http://shop.example/ -> 200 blue")
	s.has(s.run(0, "verify"), "1 changes")
	s.run(0, "apply", ".", "--wait")
	s.expect("GET http://shop.example/ -> 200 green")
}

func (s *ledgerStage) rename(from, to string) {
	s.t.Helper()
	if err := os.Rename(from, to); err != nil {
		s.t.Fatal(err)
	}
}

// TestLedgerRestoredDatabase: PostgreSQL goes back to a dump while Cardea runs. What is served stays until it is said
// that the dump counts.
func TestLedgerRestoredDatabase(t *testing.T) {
	t.Parallel()
	programs := postgrestest.Programs(t)
	if _, err := os.Stat(filepath.Join(programs, "pg_restore")); err != nil {
		t.Skipf("PostgreSQL's client programs are not there: %v", err)
	}
	steps := restoring(t)
	s := openLedger(t, postgrestest.New(t), shop())
	s.run(0, "apply", ".", "--wait")
	s.shell(steps[2], programs)
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.run(0, "apply", ".", "--wait")
	s.expect("GET http://shop.example/ -> 200 green")

	s.shell(steps[3][:1], programs)
	e2e.Eventually(t, func() error { return s.finds(true, "was an older backup restored?") })
	s.expect("GET http://shop.example/ -> 200 green")
	s.shell(steps[3][1:])
	e2e.Eventually(t, func() error { return s.finds(false, "was an older backup restored?") })
	e2e.Eventually(t, func() error { return s.ends(0, "wait", "1") })
	s.expect("GET http://shop.example/ -> 200 blue")
	s.run(0, "apply", ".", "--wait")
	s.expect("GET http://shop.example/ -> 200 green")
}

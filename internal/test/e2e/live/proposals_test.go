package live

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// digestIn is the digest of a preview in a text.
func digestIn(t *testing.T, text string) string {
	t.Helper()
	m := regexp.MustCompile(`preview ([0-9a-f]{64})`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("there is no digest in\n%s", text)
	}
	return m[1]
}

// protectedStage serves a ledger with the shop, whose changes need one approval.
func protectedStage(t *testing.T) *ledgerStage {
	t.Helper()
	s := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"), shop())
	s.run(0, "apply", ".", "-m", "the shop", "--wait")
	s.run(0, "target", "set", "default", "--approvals", "1")
	s.expect("GET http://shop.example/ -> 200 blue")
	return s
}

// TestProposals: a change of a protected target is proposed, approved by somebody else, committed and live; when it
// would do something else than what was approved, it is not committed.
func TestProposals(t *testing.T) {
	t.Parallel()
	s := protectedStage(t)
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.has(s.run(1, "apply", ".", "-m", "green is ready"), "HTTPRoute shop/web", "need approvals (1)",
		"cardea ledger propose")

	// Proposed with what it does. Nothing is changed yet, and its author does not approve it.
	made := s.run(0, "propose", ".", "-m", "green is ready", "--author", "alice")
	s.has(made, "proposal 1 by alice", "Open, 0 of 1 approvals", "green is ready", "apply HTTPRoute shop/web",
		"~ HTTPRoute shop/web", "shop.example")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.has(s.run(1, "approve", "1", "--author", "alice"), "can't approve it")
	s.has(s.run(1, "commit", "1", "--author", "alice"), "0 of 1 approvals")
	s.has(s.run(1, "approve", "1", "--author", "bob", "--if-preview", strings.Repeat("0", 64)), "has changed since "+
		"the preview")
	s.has(s.run(0, "approve", "1", "--author", "bob", "-m", "as agreed", "--if-preview", digestIn(t, made)),
		"proposal 1: Approved, 1 of 1 approvals")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.has(s.run(0, "commit", "1", "--author", "bob", "--wait"), "change 2:", "changed HTTPRoute shop/web",
		"change 2 is live")
	s.expect("GET http://shop.example/ -> 200 green")
	s.has(s.run(0, "show", "2"), "apply by alice", "proposal 1: committed as change 2 by bob",
		"approved by bob at", "as agreed")
	s.has(s.run(0, "commit", "1"), "change 2, which an earlier request made")
	s.has(s.run(0, "history"), "green is ready")

	// Somebody changes the route meanwhile: what was approved is not what would be done.
	s.write("route.yaml", routeFile("web", "store.example", to("green")))
	s.run(0, "propose", ".", "-m", "a new name", "--author", "alice")
	s.has(s.run(0, "approve", "2", "--author", "bob"), "store.example", "preview ", "proposal 2: Approved")
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.run(0, "apply", ".", "--without-approval", "-m", "green burns", "--wait")
	s.has(s.run(1, "commit", "2", "--author", "alice"), "proposal 2", "would no longer do what was approved")
	s.expect("GET http://shop.example/ -> 200 blue\nGET http://store.example/ -> 404")
	s.has(s.run(0, "proposals", "2"), "Outdated, 0 of 1 approvals", "approved by bob", "no longer counts",
		"store.example")
	s.has(s.run(1, "commit", "2", "--author", "alice"), "0 of 1 approvals")
	s.run(0, "approve", "2", "--author", "carol")
	s.has(s.run(0, "commit", "2", "--author", "alice", "--wait"), "change 4 is live")
	s.expect("GET http://store.example/ -> 200 green")

	// What was done is taken back in the same way.
	s.has(s.run(1, "undo", "4"), "need approvals")
	s.has(s.run(0, "undo", "4", "--propose", "--author", "alice"), "proposal 3 by alice",
		"HTTPRoute shop/web as it was in revision")
	s.run(0, "approve", "3", "--author", "bob")
	s.has(s.run(0, "commit", "3", "--wait"), "change 5 is live")
	s.expect("GET http://shop.example/ -> 200 blue\nGET http://store.example/ -> 404")
	s.run(0, "verify")
}

// TestProposalsEnd: a proposal is rejected or withdrawn, and is not committed if nobody can tell what it does.
func TestProposalsEnd(t *testing.T) {
	t.Parallel()
	s := protectedStage(t)
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	for range 3 {
		s.run(0, "propose", ".", "--author", "alice")
	}
	s.has(s.run(1, "reject", "1", "--author", "bob"), "no reason")
	s.has(s.run(0, "reject", "1", "--author", "bob", "-m", "not on a Friday"), "rejected by bob")
	s.has(s.run(1, "approve", "1", "--author", "carol"), "rejected by bob: not on a Friday")
	s.has(s.run(1, "withdraw", "2", "--author", "bob"), "only alice")
	s.has(s.run(0, "withdraw", "2", "--author", "alice"), "withdrawn by alice")
	s.has(s.run(1, "approve", "x"), `"x"`, "cardea ledger proposals")
	s.has(s.run(1, "approve", "9"), "proposal 9", "not in the ledger")
	s.has(s.run(0, "proposals"), "Rejected", "Withdrawn", "Open", "0 of 1")
	list := s.run(0, "proposals", "--state", "Open")
	if strings.Contains(list, "Rejected") || !strings.Contains(list, "3 ") {
		t.Errorf("the open ones are\n%s", list)
	}
	s.has(s.run(1, "proposals", "--state", "Maybe"), "Maybe")
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.has(s.run(1, "propose", "."), "changes nothing")

	s.run(0, "approve", "3", "--author", "bob")
	s.Stop(t)
	s.has(s.run(1, "commit", "3"), "could not be previewed")
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.has(s.run(0, "propose", ".", "--author", "alice"), "proposal 4", "not previewed")
	s.run(0, "approve", "4", "--author", "bob")
	s.has(s.run(1, "commit", "4"), "could not be previewed")
	s.serve()
	s.has(s.run(1, "commit", "4"), "would no longer do what") // by now it is known what it does, and nobody approved that
	s.run(0, "commit", "3", "--wait")
	s.expect("GET http://shop.example/ -> 200 green")
}

// asked is a ledger's server, with the tokens of people.
type askedServer struct {
	*ledgerStage
	address string
	tokens  map[string]string // files, by whose they are
}

// serveHTTP starts `cardea ledger serve` for a stage's ledger.
func serveHTTP(t *testing.T, s *ledgerStage, grants map[string]string) *askedServer {
	t.Helper()
	a := &askedServer{ledgerStage: s, tokens: map[string]string{}}
	for who, permissions := range grants {
		a.tokens[who] = filepath.Join(t.TempDir(), who)
		token := s.run(0, "token", "create", who, "--subject", who)
		if err := os.WriteFile(a.tokens[who], []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		s.run(0, "grant", "set", who, "--subjects", who, "--permissions", permissions)
	}
	s.run(0, "cluster", "set", "here", "--admin", s.Admin)
	cmd := exec.Command(s.binary, "ledger", "serve", "--ledger", s.url, "--listen", "127.0.0.1:0", "--no-workers")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		listens := regexp.MustCompile(`API listens.* address=(\S+)`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-ended
		_ = cmd.Wait()
	})
	select {
	case is := <-address:
		a.address = "http://" + is
	case <-ended:
		t.Fatal("the server ended")
	}
	return a
}

// as runs `cardea ledger` as somebody, over HTTP.
func (a *askedServer) as(who string, code int, args ...string) string {
	a.t.Helper()
	return a.run(code, append(args, "--ledger", a.address, "--ledger-token-file", a.tokens[who])...)
}

// TestProposalsOverHTTP: a server knows who asks, so nobody approves as somebody else.
func TestProposalsOverHTTP(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, protectedStage(t), map[string]string{"alice": "read,write,approve", "bob": "read,approve",
		"mallory": "read", "carol": "rollback"})
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.has(s.as("alice", 1, "apply", "."), "need approvals (1)")
	s.has(s.as("alice", 1, "apply", ".", "--without-approval"), "need approvals (1)")
	s.has(s.as("alice", 0, "propose", ".", "-m", "green is ready"), "proposal 1 by alice", "~ HTTPRoute shop/web")
	s.has(s.as("alice", 1, "approve", "1", "--author", "bob"), "takes the author from the token")
	s.has(s.as("alice", 1, "approve", "1"), "can't approve it")
	s.has(s.as("mallory", 1, "approve", "1"), "mallory has no permission for this with any object (approve)")
	seen := s.as("bob", 0, "proposals", "1")
	s.has(seen, "~ HTTPRoute shop/web", "green is ready")
	s.has(s.as("bob", 0, "approve", "1", "--if-preview", digestIn(t, seen)), "Approved, 1 of 1")
	s.has(s.as("mallory", 1, "commit", "1"), "may not")
	s.has(s.as("alice", 0, "commit", "1", "--wait"), "change 2 is live")
	s.expect("GET http://shop.example/ -> 200 green")
	s.has(s.as("bob", 0, "show", "2"), "approved by bob")
	s.has(s.as("bob", 0, "commit", "1"), "which an earlier request made")

	// Who may roll back, and neither read nor write, has the server draft it.
	s.has(s.as("carol", 0, "undo", "2", "--dry-run"), "changed HTTPRoute shop/web")
	s.has(s.as("mallory", 1, "undo", "2", "--dry-run"), "mallory has no permission for this with any object",
		"rollback")
	s.has(s.as("carol", 1, "rollback", "httproute", "shop/web", "--to", "1", "--preview"), "not shown",
		"need approvals (1)")
	s.has(s.as("carol", 0, "undo", "2", "--propose", "-m", "not yet"), "proposal 2 by carol", "not yet",
		"HTTPRoute shop/web as it was in revision 1")
	s.has(s.as("bob", 0, "approve", "2"), "~ HTTPRoute shop/web", "proposal 2: Approved")
	s.has(s.as("carol", 0, "commit", "2"), "change 3", "changed HTTPRoute shop/web")
	s.has(s.as("bob", 0, "wait", "3"), "change 3 is live")
	s.expect("GET http://shop.example/ -> 200 blue")
}

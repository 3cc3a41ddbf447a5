package live

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// ledgerStage is a stage that serves a ledger. Its folder is what `cardea ledger apply` takes.
type ledgerStage struct {
	*stage
	url    string
	binary string
	name   string // of the Cardea; "": "here"
}

// openLedger serves a ledger, which is empty.
func openLedger(t *testing.T, url, archive string, change ...func(*standalone.Options)) *ledgerStage {
	t.Helper()
	built, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	s := &ledgerStage{stage: prepare(t, t.TempDir(), archive), url: url, binary: built}
	s.serve(change...)
	return s
}

// serve serves the ledger.
func (s *ledgerStage) serve(change ...func(*standalone.Options)) {
	s.t.Helper()
	dir := s.Dir
	s.start(append(change, func(o *standalone.Options) {
		o.Dir, o.Ledger = "", standalone.LedgerOptions{URL: s.url, Name: cmp.Or(s.name, "here")}
	})...)
	s.Dir = dir
	s.Ready(s.t)
}

// run runs `cardea ledger`, which must end with a code, and returns what it printed.
func (s *ledgerStage) run(code int, args ...string) string {
	s.t.Helper()
	cmd := exec.Command(s.binary, append([]string{"ledger"}, args...)...)
	cmd.Dir = s.Dir
	cmd.Env = append(cmd.Environ(), "CARDEA_LEDGER="+s.url, "CARDEA_SERVER="+s.Admin, "HOME="+s.t.TempDir())
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		s.t.Fatalf("cardea ledger %s: exit code %d (%v), want %d\n%s", strings.Join(args, " "), got, err, code, out)
	}
	return string(out)
}

// has checks that a text has parts.
func (s *ledgerStage) has(text string, parts ...string) {
	s.t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			s.t.Errorf("%q is not in\n%s", p, text)
		}
	}
}

// TestLedger serves a gateway from a ledger: an edit with a preview, the history, explain, undo, a refusal, a hold and
// the way back of the whole gateway, with the traffic after each step.
func TestLedger(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { changeAndGoBack(t, filepath.Join(t.TempDir(), "ledger.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { changeAndGoBack(t, postgrestest.New(t)) })
}

func changeAndGoBack(t *testing.T, url string) {
	s := openLedger(t, url, shop(), lowLimit(t))
	s.has(s.run(0, "apply", ".", "-m", "the shop", "--wait"), "change 1:", "created HTTPRoute shop/web",
		"change 1 is live")
	s.expect("GET http://shop.example/ -> 200 blue")

	// A preview tells which requests go elsewhere; a commit is bound to it.
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	diff := s.run(1, "diff", ".")
	s.has(diff, "~ HTTPRoute shop/web", "shop.example", "preview ")
	digest := regexp.MustCompile(`preview ([0-9a-f]{64})`).FindStringSubmatch(diff)[1]
	s.expect("GET http://shop.example/ -> 200 blue")
	s.has(s.run(0, "apply", ".", "--if-preview", digest, "-m", "green is ready", "--author", "alice", "--wait"),
		"change 2 is live")
	s.expect("GET http://shop.example/ -> 200 green")
	s.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	s.has(s.run(1, "apply", ".", "--if-preview", digest), "would no longer do what its preview showed")

	// Who, why and what became of it.
	s.has(s.run(0, "history"), "alice", "green is ready", "live")
	s.has(s.run(0, "history", "httproute", "shop/web"), "changed, generation 2, revision 2   live", "superseded")
	s.has(s.run(0, "show", "2"), "changed HTTPRoute shop/web: generation 2, revision 2: live", "-    - name: blue",
		"+    - name: green")
	told, err := exec.Command(s.binary, "explain", "http://shop.example/", "--server", s.Admin).CombinedOutput()
	if err != nil {
		t.Errorf("explain: %v", err)
	}
	s.has(string(told), "by alice", `change 2: "green is ready"`)

	// Back: the third generation has the content of revision 1.
	s.has(s.run(0, "undo", "2", "--wait"), "change 3 is live")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.has(s.run(0, "show", "httproute", "shop/web"), "generation 3, revision 1, of change 3")
	s.has(s.run(0, "apply", "."), "nothing changes")

	// What the proxies refuse is told in their words, and undone if that is wanted.
	s.write("route.yaml", routeFile("web", "shop.example",
		fmt.Sprintf("matches: [{path: {type: RegularExpression, value: %q}}]\n    %s", "/"+largeRegex, to("green"))))
	refused := s.run(2, "apply", ".", "--undo-if-refused")
	s.has(refused, "change 4 is refused", "regex", "change 5 undoes it", "change 5 is live")
	s.expect("GET http://shop.example/ -> 200 blue")
	s.has(s.run(0, "show", "4"), "refused, undone by 5\n", "regex")
	s.has(s.run(0, "history"), "refused, undone by 5")

	// Nobody changes what is held; a gateway goes back as a whole.
	s.write("route.yaml", routeFile("web", "store.example", to("green")))
	s.run(0, "apply", ".", "--wait")
	s.has(s.run(2, "delete", "service", "shop/green", "-m", "unused", "--wait"), "is refused",
		"Service shop/green: here: HTTPRoute shop/web: spec.rules[0]", "Service shop/green does not exist")
	s.expect("GET http://store.example/ -> 500")
	s.has(s.run(0, "rollback", "gateway", "shop/web", "--to", "3", "--hold", "incident 7", "--wait"), "change 8 is live")
	s.expect("GET http://shop.example/ -> 200 blue\nGET http://store.example/ -> 404")
	s.has(s.run(1, "apply", "."), "HTTPRoute shop/web: is held by", "incident 7", "--release")
	s.run(0, "apply", ".", "--release", "--wait")
	s.expect("GET http://store.example/ -> 200 green")
	s.has(s.run(0, "verify"), "9 changes")
}

// TestLedgerBadInput: a mistake names the file, the object and the field, and nothing of the change is made.
func TestLedgerBadInput(t *testing.T) {
	t.Parallel()
	s := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"), shop())
	s.run(0, "apply", ".", "--wait")
	s.write("other.yaml", routeFile("other", "other.example", to("blue")))
	s.write("route.yaml", strings.Replace(routeFile("web", "shop.example", to("green")), "hostnames", "hostnames2", 1))
	s.has(s.run(1, "apply", "."), "route.yaml:1", "HTTPRoute shop/web", "hostnames2")
	s.write("route.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {}\n")
	s.has(s.run(1, "apply", "."), "Deployment shop/web", "Cardea does not read this kind")
	s.write("route.yaml", "kind: HTTPRoute\n")
	s.has(s.run(1, "apply", "."), "route.yaml:1", "apiVersion")
	s.has(s.run(1, "undo", "7"), "7")
	s.has(s.run(1, "show", "httproute", "shop/none"), "HTTPRoute shop/none")
	s.has(s.run(1, "undo", "x"), `"x"`, "number of a change")
	s.has(s.run(0, "history"), "1  ")
	if text := s.run(0, "history", "-o", "json"); strings.Count(text, `"number"`) != 1 {
		t.Errorf("history is\n%s", text)
	}
}

// TestLedgerChangeIsOneTurn: the objects of one change arrive together, in whatever order they are written down: there
// is no moment in which a route has no backend.
func TestLedgerChangeIsOneTurn(t *testing.T) {
	t.Parallel()
	s := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"), shop())
	s.run(0, "apply", ".", "--wait")
	db, err := store.Open(t.Context(), store.Config{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l := s.load(rate, "shop.example", "blue green")
	for i := range 20 {
		name := fmt.Sprintf("s%d", i)
		var edits []ledger.Edit
		for _, text := range []string{routeFile("web", "shop.example", to(name)), serviceFile(name, "blue")} {
			edits = append(edits, s.edits(text)...)
		}
		if i > 0 {
			before := fmt.Sprintf("s%d", i-1)
			edits = append(edits, ledger.Edit{Key: key("", "Service", before), Delete: true},
				ledger.Edit{Key: key("discovery.k8s.io", "EndpointSlice", before), Delete: true})
		}
		if _, err := db.Commit(t.Context(), ledger.Draft{Author: "test", Edits: edits}); err != nil {
			t.Fatal(err)
		}
	}
	s.run(0, "wait", "21")
	if asked, failed := l.end(); len(failed) > 0 || asked == 0 {
		t.Errorf("%d of %d requests failed, such as %q", len(failed), asked, failed[:min(len(failed), 5)])
	}
}

func key(group, kind, name string) ledger.Key {
	return ledger.Key{Target: ledger.DefaultTarget, Group: group, Kind: kind, Namespace: "shop", Name: name}
}

// edits are the objects of a text as edits.
func (s *ledgerStage) edits(text string) (list []ledger.Edit) {
	s.t.Helper()
	for _, doc := range strings.Split(s.fill(text), "---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			s.t.Fatal(err)
		}
		k, content, err := ledger.ContentOf(ledger.DefaultTarget, object)
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, ledger.Edit{Key: k, Content: content})
	}
	return list
}

// TestLedgerSurvives: a Cardea that starts again serves what the ledger has, and what was changed meanwhile.
func TestLedgerSurvives(t *testing.T) {
	t.Parallel()
	s := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"), shop())
	s.run(0, "apply", ".", "--wait")
	s.Stop(t)
	s.write("route.yaml", routeFile("web", "shop.example", to("green")))
	s.run(0, "apply", ".")
	s.serve()
	s.expect("GET http://shop.example/ -> 200 green")
	s.run(0, "wait", "2")
	var list []ledger.Status
	if err := json.Unmarshal([]byte(s.run(0, "status", "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		here := func(l ledger.Live) bool { return l.Cluster == "here" && l.Generation == o.Generation }
		if !slices.ContainsFunc(o.Live, here) {
			t.Errorf("%s is not told to be live: %+v", o.Key, o.Live)
		}
	}
}

// TestLedgerRefusedForNow: what Cardea or a proxy refuses is told in their words, and is live when what was in the way
// is gone.
func TestLedgerRefusedForNow(t *testing.T) {
	t.Parallel()
	s := openLedger(t, filepath.Join(t.TempDir(), "ledger.db"), shop())
	taken := s.hold(s.Address, 80)
	s.has(s.run(2, "apply", ".", "--wait"), "change 1 is refused", "Gateway shop/web", "in use")
	s.has(s.run(0, "status", "--pending"), "Gateway shop/web")
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, func() error { return s.ends(0, "wait", "1") })
	s.expect("GET http://shop.example/ -> 200 blue")

	// A backend that does not exist, and one day does.
	s.write("route.yaml", routeFile("web", "shop.example", to("red")))
	s.has(s.run(2, "apply", ".", "--wait"), "change 2 is refused", "red")
	s.expect("GET http://shop.example/ -> 500")
	s.write("red.yaml", serviceFile("red", "red"))
	s.run(0, "apply", ".", "--wait")
	e2e.Eventually(t, func() error { return s.ends(0, "wait", "2") })
	s.expect("GET http://shop.example/ -> 200 red")

	// A route that no Gateway takes.
	lost := strings.Replace(routeFile("other", "other.example", to("red")), "[{name: web}]", "[{name: none}]", 1)
	s.write("other.yaml", lost)
	s.has(s.run(2, "apply", ".", "--wait"), "is refused", "none")
}

// ends runs `cardea ledger`, and returns an error unless it ends with a code.
func (s *ledgerStage) ends(code int, args ...string) error {
	cmd := exec.Command(s.binary, append([]string{"ledger"}, args...)...)
	cmd.Env = append(cmd.Environ(), "CARDEA_LEDGER="+s.url)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != code {
		return fmt.Errorf("cardea ledger %s: exit code %d\n%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), out)
	}
	return nil
}

package live

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/ledgerserver"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/store"
)

// TestRESTDocument runs the examples of docs/ledger-rest.md with curl against a server, and finds one for each
// operation that the server describes.
func TestRESTDocument(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger.db")
	env := append(os.Environ(), accounts(t, file)...)
	p := e2e.Start(t, "", func(o *standalone.Options) { o.Ledger = standalone.LedgerOptions{URL: file, Name: "here"} })
	p.Ready(t)
	api := serveLedger(t, file)
	env = append(env, "API="+api, "CARDEA="+p.Admin)
	text, err := os.ReadFile("../../../../docs/ledger-rest.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, block := range e2e.ConsoleBlock.FindAllStringSubmatch(string(text), -1) {
		for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
			cmd.Env = env
			got, err := cmd.CombinedOutput()
			if err != nil || !e2e.Matches(string(got), want) {
				t.Errorf("$ %s\n%s\n%v, want:\n%s", command, got, err, want)
			}
			commands = append(commands, command)
		}
	}
	for _, operation := range operations(t, api) {
		if !hasExample(commands, operation) {
			t.Errorf("docs/ledger-rest.md has no example of %s", operation)
		}
	}
}

// accounts are who asks in the examples, as variables.
func accounts(t *testing.T, file string) (env []string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Config{URL: file})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, token := range []ledger.Token{{Name: "alice", Subject: "alice"}, {Name: "bob", Subject: "bob"},
		{Name: "east", Cluster: "east"}} {
		var secret string
		secret, token.Hash = auth.MintToken()
		if err := db.SetToken(t.Context(), token, "test"); err != nil {
			t.Fatal(err)
		}
		env = append(env, strings.ToUpper(token.Name)+"=Authorization: Bearer "+secret)
	}
	if err := db.SetGrant(t.Context(), ledger.Grant{Name: "all", Subjects: []string{"alice", "bob"},
		Permissions: []ledger.Permission{"*"}}, "test"); err != nil {
		t.Fatal(err)
	}
	return env
}

// serveLedger serves a ledger until the test ends, and returns the URL of its API.
func serveLedger(t *testing.T, file string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	listening, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- ledgerserver.Run(ctx, ledgerserver.Options{Catalog: world.NewCatalog(), URL: file, Addr: "127.0.0.1:0",
			OnListen: func(a string) { listening <- a }})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-listening:
		return "http://" + a + rest.Prefix
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
		return ""
	}
}

// operations are those that a server describes, as "get /changes/{number}".
func operations(t *testing.T, api string) (list []string) {
	t.Helper()
	answer, err := http.Get(api + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var doc struct{ Paths map[string]map[string]any }
	if err := json.NewDecoder(answer.Body).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method := range methods {
			list = append(list, method+" "+strings.TrimPrefix(path, rest.Prefix))
		}
	}
	if len(list) < 50 {
		t.Errorf("the server describes %d operations", len(list))
	}
	return list
}

var parameter = regexp.MustCompile(`\\\{\w+\\\}`)

// hasExample says whether one of some commands does an operation.
func hasExample(commands []string, operation string) bool {
	method, path, _ := strings.Cut(operation, " ")
	is := regexp.MustCompile(`\$API` + parameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/ ?]+`) + `["? ]`)
	for _, command := range commands {
		for _, curl := range strings.Split(command, "curl ")[1:] {
			sent := "get"
			if strings.Contains(curl, "--json") {
				sent = "post"
			}
			if _, stated, ok := strings.Cut(curl, "-X "); ok {
				sent = strings.ToLower(strings.Fields(stated)[0])
			}
			if sent == method && is.MatchString(strings.NewReplacer(`$(printf`, "x", "$(curl", "x").Replace(curl)+" ") {
				return true
			}
		}
	}
	return false
}

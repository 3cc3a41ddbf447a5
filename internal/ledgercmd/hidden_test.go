package ledgercmd

import (
	"net/http/httptest"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/ledger/caller"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/world"
)

// Who may read one kind of objects sees that a change is of others, too: in its history, in what it shows and says of
// its stage. Who may read all of them is told nothing of the kind.
func TestReadersOfOneKindSeeThatThereAreOthers(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("in/both.yaml", backend("blue")+"---\n"+webRoute), "-m", "both")
	db := r.open()
	groups := caller.GroupsOf(world.Catalog())
	for name, kinds := range map[string][]string{"routes": {"HTTPRoute"}, "all": nil} {
		token, hash := caller.Mint()
		for _, err := range []error{
			db.SetToken(t.Context(), ledger.Token{Name: name, Subject: name, Hash: hash}, "test"),
			db.SetGrant(t.Context(), ledger.Grant{Name: name, Subjects: []string{name}, Kinds: kinds,
				Permissions: []ledger.Permission{ledger.MayRead}}, "test"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		h, err := rest.New(rest.Config{Ledger: db, Callers: caller.New(caller.Config{Access: db, Groups: groups}),
			Groups: groups})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		r.file = server.URL
		t.Setenv(tokenVariable, token)
		history, shown := r.run("history"), r.run("show", "1")
		waited := r.refused("wait", "1", "--timeout", "1ms")
		if name == "routes" {
			r.has(history, "HTTPRoute default/web and 1 that you may not read", "both")
			r.has(shown, "created HTTPRoute default/web", "and 1 that you may not read")
			r.has(waited, "as far as you may read it (not 1 of its objects)")
		} else if r.has(history, "2 objects"); strings.Contains(history+shown+waited, "may not read") {
			t.Errorf("%s\n%s\n%s", history, shown, waited)
		}
	}
}

package ledgercmd

import (
	"net/http/httptest"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/rest"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/ops/ledgerpreview"
)

// Who may read one kind of objects sees that a change is of others, too: in its history, in what it shows and says of
// its stage. Who may read all of them is told nothing of the kind.
func TestReadersOfOneKindSeeThatThereAreOthers(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("in/both.yaml", backend("blue")+"---\n"+webRoute), "-m", "both")
	db := r.open()
	for name, kinds := range map[string][]string{"routes": {"HTTPRoute"}, "all": nil} {
		r.serve(db, ledger.Grant{Name: name, Subjects: []string{name}, Kinds: kinds,
			Permissions: []ledger.Permission{ledger.MayRead}})
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

// serve has the commands that follow ask a server for a ledger, as the one whom a grant is of.
func (r *rig) serve(db *store.Store, g ledger.Grant) {
	r.Helper()
	token, hash := auth.MintToken()
	groups := auth.GroupsOf(world.NewCatalog())
	h, err := rest.New(rest.Config{Ledger: db, Callers: auth.New(auth.Config{Access: db, Groups: groups}),
		Groups: groups, Proposer: &ledgerpreview.Previewer{Ledger: db, CardeasOf: ledgerpreview.FindCardeas(db, ""),
			IsRead: func(ledger.Key) bool { return true }}})
	for _, err := range []error{err,
		db.SetToken(r.Context(), ledger.Token{Name: g.Name, Subject: g.Subjects[0], Hash: hash}, "test"),
		db.SetGrant(r.Context(), g, "test")} {
		if err != nil {
			r.Fatal(err)
		}
	}
	server := httptest.NewServer(h)
	r.Cleanup(server.Close)
	r.file = server.URL
	r.Setenv(tokenVariable, token)
}

package ledgerserver

import (
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/bodytest"
)

// TestBodiesThatNobodyReads: the server reads what is left of a body before it answers, so a body that is refused has a
// deadline, too, whoever sends it.
func TestBodiesThatNobodyReads(t *testing.T) {
	db, err := store.Open(t.Context(), store.Config{URL: filepath.Join(t.TempDir(), "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o := Options{Catalog: world.NewCatalog(), Addr: DefaultAddr}
	if err := o.checkOptions(); err != nil {
		t.Fatal(err)
	}
	m := newMetrics()
	w, err := newWorkers(o, db, m)
	if err != nil {
		t.Fatal(err)
	}
	api, err := newAPI(o, db, w, m)
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(t.Context(), Options{Log: slog.New(slog.DiscardHandler)}, api)
	for _, path := range []string{"/ledger/v1/changes", "/ledger/v1/nothing", "/api/v1/resources", "/nothing"} {
		for body, want := range map[string]int{"{}": 1, "": 0} {
			seen := bodytest.NewDeadlineRecorder()
			server.Handler.ServeHTTP(seen, httptest.NewRequestWithContext(t.Context(), "POST", path, strings.NewReader(body)))
			if seen.Code/100 != 4 || len(seen.Deadlines) != want || want > 0 && seen.Deadlines[0].IsZero() {
				t.Errorf("%s with body %q: %d, deadlines %v", path, body, seen.Code, seen.Deadlines)
			}
		}
	}
}

package live

import (
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// TestLedgerTwoCardeas: a change is live when each Cardea that reads the target says so, and refused if one refuses
// it. One that ended is not waited for, and a name is one Cardea's.
func TestLedgerTwoCardeas(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { twoCardeas(t, filepath.Join(t.TempDir(), "ledger.db")) })
	t.Run("PostgreSQL", func(t *testing.T) { twoCardeas(t, postgrestest.New(t)) })
}

func twoCardeas(t *testing.T, url string) {
	here := openLedger(t, url, shop())
	at := e2e.Address()
	there := &ledgerStage{stage: prepare(t, t.TempDir(), shop()), url: url, binary: here.binary, name: "there"}
	taken := there.hold(at, 80)
	there.serve(func(o *standalone.Options) { o.Bind = []string{at} })

	refused := here.run(2, "apply", ".", "--wait")
	here.has(refused, "change 1 is refused", "there: Gateway shop/web", "in use")
	if strings.Contains(refused, " here: ") {
		t.Errorf("here refused it, too:\n%s", refused)
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	e2e.Eventually(t, func() error { return here.ends(0, "wait", "1") })
	here.expect("GET http://shop.example/ -> 200 blue")
	there.expect("GET http://shop.example/ -> 200 blue")

	// Both acknowledge an edit before it is live.
	here.write("route.yaml", routeFile("web", "shop.example", to("green")))
	here.has(here.run(0, "apply", ".", "--wait"), "change 2 is live")
	here.expect("GET http://shop.example/ -> 200 green")
	there.expect("GET http://shop.example/ -> 200 green")
	here.has(here.run(0, "status", "httproute", "shop/web"), "here: shop/web, 1 proxy", "there: shop/web, 1 proxy")

	// A third one under a name that is in use does not start.
	err := standalone.Run(t.Context(), standalone.Options{Dialects: e2e.DataPlanes(t), Extensions: e2e.Extensions(),
		PortOffset: e2e.Offset, Bind: []string{e2e.Address()}, Admin: "127.0.0.1:0", CacheDir: t.TempDir(),
		Ledger: standalone.LedgerOptions{URL: url, Name: "there"}})
	if err == nil || !strings.Contains(err.Error(), "--ledger-name: another Cardea reads target default") {
		t.Fatalf("a second Cardea of one name: %v", err)
	}

	// One that ends is not waited for; one that is there and can't answer is named.
	there.Stop(t)
	here.write("route.yaml", routeFile("web", "shop.example", to("blue")))
	here.has(here.run(0, "apply", ".", "--wait"), "change 3 is live")
	db, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	silent := ledger.Reading{Target: ledger.DefaultTarget, Name: "silent", Instance: "1"}
	if _, err := db.RecordReader(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	here.write("route.yaml", routeFile("web", "shop.example", to("green")))
	here.has(here.run(1, "apply", ".", "--wait", "--timeout", "1s"),
		"HTTPRoute shop/web is committed", "silent has not answered")
	here.expect("GET http://shop.example/ -> 200 green")
	if err := db.RemoveReader(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	here.run(0, "wait", "4")
	here.has(here.run(0, "history", "httproute", "shop/web"), "superseded, was live since")
}

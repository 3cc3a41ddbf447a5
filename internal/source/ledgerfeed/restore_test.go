package ledgerfeed

import (
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/test/postgrestest"
)

// After a restore of an older backup, what is served stays until somebody says that the ledger counts.
func TestRestored(t *testing.T) {
	for name, meanwhile := range map[string]func(*rig){
		"the older one": func(*rig) {},
		"another history": func(r *rig) {
			r.commit(route("web", "another"))
			r.commit(route("web", "more"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			stop := r.run()
			r.taken(r.commit(route("web", "one"), service("blue")))
			backup := filepath.Join(t.TempDir(), "backup.db")
			r.must(r.store.Backup(t.Context(), backup))
			r.taken(r.commit(route("web", "two"), remove(service("blue"))))
			const served = "HTTPRoute web 2 change 2\nNamespace shop implied\n"
			r.is(served)
			stop()

			r.store = r.open(backup)
			r.feed.Ledger = r.store
			meanwhile(r)
			stop = r.run()
			r.troubled("older backup")
			r.is(served)

			r.must(r.store.NewEpoch(t.Context()))
			r.followed()
			after := r.commit(service("green"))
			r.taken(after)
			r.eventually(func() string {
				if _, is := r.get(ref("Service", "blue")); !is {
					return "what the backup has did not come"
				}
				return ""
			})
			stop()
		})
	}
}

// While the database is away everything stays as it is. What was committed meanwhile comes when it is back.
func TestDatabaseAwayAndBack(t *testing.T) {
	server := postgrestest.Start(t)
	r := rigOf(t, server.URL("postgres"), filepath.Join(t.TempDir(), "cache"))
	r.run()
	r.taken(r.commit(route("web", "one")))
	server.Kill()
	r.troubled("")
	r.is("HTTPRoute web 1 change 1\nNamespace shop implied\n")
	if !r.feed.HasLoaded() {
		t.Error("it is not loaded any more")
	}
	r.must(server.Run())
	r.taken(r.commit(route("web", "two")))
	r.followed()
	r.is("HTTPRoute web 2 change 2\nNamespace shop implied\n")
}

// troubled waits until the ledger is not followed, for a reason.
func (r *rig) troubled(why string) {
	r.t.Helper()
	r.eventually(func() string {
		if list := r.feed.Problems(); len(list) != 1 || list[0].Object != "" || !strings.Contains(list[0].Message, why) {
			return "it is not told that the ledger is not followed"
		}
		return ""
	})
}

// followed waits until the ledger is followed.
func (r *rig) followed() {
	r.t.Helper()
	r.eventually(func() string {
		if list := r.feed.Problems(); len(list) > 0 {
			return list[0].Message
		}
		return ""
	})
}

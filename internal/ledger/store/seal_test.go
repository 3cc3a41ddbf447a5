package store

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/test/postgrestest"
)

var tls = ledger.Key{Target: ledger.DefaultTarget, Kind: "Secret", Namespace: "shop", Name: "tls"}

const password = "correct-horse-battery-staple"

func secret(version string) ledger.Edit {
	return ledger.Edit{Key: tls, Content: ledger.Content(`{"stringData":{"password":"` + password + version + `"}}`)}
}

// TestSealed: no file of a ledger has a Secret's text, and only its owner may read them.
func TestSealed(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "ledger.db")
	s := openFile(t, path)
	commit(t, s, secret("1"))
	commit(t, s, secret("2"), edit("web", "plain-text-is-found"))
	if err := s.Backup(t.Context(), filepath.Join(folder, "backup.db")); err != nil {
		t.Fatal(err)
	}
	found := false
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 && f.Name() != "ledger.db-shm" {
			t.Errorf("%s may be read by others: %s", f.Name(), info.Mode())
		}
		if bytes.Contains(text, []byte(password)) {
			t.Errorf("%s has the password", f.Name())
		}
		found = found || bytes.Contains(text, []byte("plain-text-is-found"))
	}
	if !found || len(files) < 4 {
		t.Errorf("the other content is not found in %v", files)
	}
	o, err := s.Object(t.Context(), tls, 1)
	if err != nil || !bytes.Contains(o.Content, []byte(password+"1")) {
		t.Fatalf("the Secret is %s, %v", o.Content, err)
	}
	verify(t, s)
}

// TestKeyFileMissing: a key file that is lost is not replaced, and the message says so. What is no Secret is not hurt.
func TestKeyFileMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := openFile(t, path)
	if _, err := os.Stat(path + ".key"); err == nil {
		t.Fatal("there is a key file before the first Secret")
	}
	commit(t, s, secret("1"))
	apps(t, s)
	k := tls
	k.Target = "apps"
	commit(t, s, ledger.Edit{Key: k, Content: secret("1").Content}, ledger.Edit{Key: ledger.Key{Target: "apps",
		Kind: "ConfigMap", Namespace: "shop", Name: "web"}, Content: ledger.Content(`{}`)})
	if err := os.Rename(path+".key", path+".lost"); err != nil {
		t.Fatal(err)
	}
	s = openFile(t, path)
	_, err := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{secret("2")}})
	if ledger.CodeOf(err) != ledger.Unprotected || !strings.Contains(err.Error(), "put it back") {
		t.Fatalf("Commit = %v", err)
	}
	if o, err := s.Object(t.Context(), tls, 0); err != nil || o.Generation != 1 ||
		!strings.Contains(o.Unopened, "put it back") {
		t.Fatalf("Object = %+v, %v", o, err)
	}
	if _, err := os.Stat(path + ".key"); err == nil {
		t.Fatal("the key file was replaced")
	}
	list, err := s.Objects(t.Context(), ledger.ObjectsQuery{Contents: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Objects {
		sealed := strings.Contains(o.Unopened, "put it back") && strings.Contains(o.Unopened, "cardea ledger export")
		if sealed != o.IsSecret() || sealed == (len(o.Content) > 0) {
			t.Errorf("%s is listed with %s, %q", o.Key, o.Content, o.Unopened)
		}
	}
	if key, err := s.KeyFile(t.Context()); key != path+".key" || err != nil {
		t.Errorf("the key file is %q, %v", key, err)
	}
	commit(t, s, edit("web", "v1"))
	// A worker gets what can be opened, and the Secret is a failure that is told.
	if list := claim(t, s, 1e9); len(list) != 1 || list[0].Kind != "ConfigMap" {
		t.Fatalf("due are %+v", list)
	}
	status, err := s.Status(t.Context(), ledger.StatusQuery{Keys: []ledger.Key{k}})
	if err != nil || status[0].Clusters[0].Applied.Code != string(ledger.Unprotected) {
		t.Fatalf("the status is %+v, %v", status, err)
	}
	if err := os.Rename(path+".lost", path+".key"); err != nil {
		t.Fatal(err)
	}
	commit(t, s, secret("2"))
}

// TestKeysRotate: a new key seals, the old one opens; after Reseal it may go. Hashes stay.
func TestKeysRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := openFile(t, path)
	first := commit(t, s, secret("1")).Edited[0].Hash
	old, err := os.ReadFile(path + ".key")
	if err != nil {
		t.Fatal(err)
	}
	fresh := "2:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, keySize)) + "\n"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".key", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(fresh + string(old))
	s = openFile(t, path)
	commit(t, s, secret("2"))
	if c := commit(t, s, secret("1")); c.Edited[0].Hash != first || c.Edited[0].Revision != 1 {
		t.Fatalf("the hash is another one: %+v", c.Edited)
	}
	if err := s.Reseal(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(fresh)
	s = openFile(t, path)
	if c := commit(t, s, secret("2")); c.Edited[0].Revision != 2 {
		t.Fatalf("it was edited so: %+v", c.Edited)
	}
	verify(t, s)
	write(string(old))
	s = openFile(t, path)
	if o, err := s.Object(t.Context(), tls, 0); err != nil || !strings.Contains(o.Unopened, `no key "2"`) {
		t.Fatalf("Object = %+v, %v", o, err)
	}
	write("1:short\n")
	s = openFile(t, path)
	if o, err := s.Object(t.Context(), tls, 0); err != nil || !strings.Contains(o.Unopened, "line 1") {
		t.Fatalf("Object = %+v, %v", o, err)
	}
}

// TestNoKeyFile: without a key file PostgreSQL keeps no Secret.
func TestNoKeyFile(t *testing.T) {
	s := open(t, Config{URL: postgrestest.New(t)})
	_, err := s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{secret("1")}})
	if ledger.CodeOf(err) != ledger.Unprotected || !strings.Contains(err.Error(), "--ledger-key") {
		t.Fatalf("Commit = %v", err)
	}
	commit(t, s, edit("web", "v1"))
}

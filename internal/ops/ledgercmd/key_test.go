package ledgercmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestKeyIsLost: without the key file, all goes on that does not need a Secret, and messages name the way out. A backup
// names the key file, if there is a Secret.
func TestKeyIsLost(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("one.yaml", backend("blue")))
	if out := r.run("backup", filepath.Join(r.dir, "before.db")); out != "" {
		t.Errorf("a backup without Secrets says %q", out)
	}
	const gateway = "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: web, namespace: shop}\n" +
		"spec: {gatewayClassName: cardea, listeners: [{name: http, protocol: HTTP, port: "
	r.run("apply", r.write("two.yaml", gateway+"80}]}\n---\n"+secret+"---\n"+
		strings.Replace(secret, "name: key", "name: other", 1)))
	r.run("apply", r.write("three.yaml", gateway+"81}]}\n"))
	r.has(r.run("backup", filepath.Join(r.dir, "copy.db")), r.file+".key", "keep a copy")
	whole := filepath.Join(r.dir, "whole")
	r.run("export", "--secrets", "--dir", whole)
	if err := os.Rename(r.file+".key", r.file+".lost"); err != nil {
		t.Fatal(err)
	}
	r.has(r.run("export"), "name: blue", "kind: Gateway")
	r.has(r.run("rollback", "gateway", "shop/web", "--to", "2"), "changed Gateway shop/web")
	r.has(r.run("history", "secret", "shop/key"), "created")
	r.has(r.refused("export", "--secrets"), "name: blue", "Secret shop/key is left out", "put it back", "ledger export")
	said := r.refused("export", "--secrets", "--dir", whole)
	r.has(said, "Secret shop/key is left out", "Secret shop/other is left out: for the same reason")
	if n := strings.Count(said, "put it back"); n != 1 {
		t.Errorf("the way out is told %d times: %s", n, said)
	}
	if _, err := os.Stat(filepath.Join(whole, "shop", "secret-key.yaml")); err != nil {
		t.Errorf("what was exported of the Secret is gone: %v", err)
	}
	r.has(r.refused("show", "secret", "shop/key"), "Secret shop/key", "put it back")
	r.has(r.refused("apply", r.write("two.yaml", secret)), "Secret shop/key", "put it back")
	r.has(r.run("show", "2"), "created Gateway shop/web", "can't be opened")
	r.run("delete", "secret", "shop/key")
}

// TestKeyOfAProposalIsLost: a proposal with a Secret whose key is missing can't be shown, approved or committed, and
// the message names the way out, which works: it is rejected or withdrawn. So it is over HTTP, where nobody is told
// where the key file would be. Other proposals go on.
func TestKeyOfAProposalIsLost(t *testing.T) {
	r := newRig(t)
	file := r.write("secret.yaml", secret)
	for _, author := range []string{"alice", "alice", "bob", "alice"} {
		r.run("propose", file, "--author", author)
	}
	r.run("propose", r.write("blue.yaml", backend("blue")), "--author", "alice")
	key := r.file + ".key"
	if err := os.Rename(key, r.file+".lost"); err != nil {
		t.Fatal(err)
	}
	const wayOut = "or reject or withdraw the proposal"
	for _, args := range [][]string{{"proposals", "1"}, {"approve", "1", "--author", "bob"}, {"commit", "1"}} {
		r.has(r.refused(args...), "proposal 1: has a Secret that can't be opened", key, wayOut)
	}
	r.has(r.run("reject", "1", "-m", "no key", "--author", "bob"), "rejected by bob")
	r.has(r.run("withdraw", "2", "--author", "alice"), "withdrawn by alice")
	r.has(r.run("proposals"), "Secret shop/key")
	r.has(r.run("proposals", "5"), "XBackend shop/blue")
	r.has(r.refused("propose", file), "Secret shop/key", "put it back")

	r.serve(r.open(), ledger.Grant{Name: "alice", Subjects: []string{"alice"}, Permissions: ledger.Permissions})
	for _, args := range [][]string{{"proposals", "3"}, {"approve", "3"}, {"commit", "3"}} {
		if said := r.refused(args...); strings.Contains(said, key) {
			t.Errorf("%v says where the key would be: %s", args, said)
		} else {
			r.has(said, "proposal 3: has a Secret that can't be opened", wayOut)
		}
	}
	r.has(r.run("reject", "3", "-m", "no key"), "rejected by alice")
	r.has(r.run("withdraw", "4"), "withdrawn by alice")
	r.has(r.run("proposals", "5"), "XBackend shop/blue")
}

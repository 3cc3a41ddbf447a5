package ledgercmd

import (
	"os"
	"path/filepath"
	"testing"
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
	r.run("apply", r.write("two.yaml", gateway+"80}]}\n---\n"+secret))
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
	r.has(r.refused("export", "--secrets", "--dir", whole), "Secret shop/key is left out")
	if _, err := os.Stat(filepath.Join(whole, "shop", "secret-key.yaml")); err != nil {
		t.Errorf("what was exported of the Secret is gone: %v", err)
	}
	r.has(r.refused("show", "secret", "shop/key"), "Secret shop/key", "put it back")
	r.has(r.refused("apply", r.write("two.yaml", secret)), "Secret shop/key", "put it back")
	r.has(r.run("show", "2"), "created Gateway shop/web", "can't be opened")
	r.run("delete", "secret", "shop/key")
}

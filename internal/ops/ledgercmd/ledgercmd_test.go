package ledgercmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestReadingMakesNoLedger: a mistyped name is an error, and no file is made of it, unless a command puts something
// into it.
func TestReadingMakesNoLedger(t *testing.T) {
	r := newRig(t)
	file := r.write("n.yaml", namespace)
	for _, args := range [][]string{{"history"}, {"show", "1"}, {"status"}, {"export"}, {"verify"}, {"undo", "1"},
		{"diff", file}, {"target", "list"}, {"token", "list"}, {"migrate"}, {"backup", r.dir + "/copy"}} {
		r.has(r.refused(args...), "there is no such ledger", r.file)
		if _, err := os.Stat(r.file); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%v made the file (%v)", args, err)
		}
	}
	r.run("target", "set", "prod")
	r.has(r.run("target", "list"), "prod", "default")
}

// TestUnknownTarget: commands that only look say so, too.
func TestUnknownTarget(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("n.yaml", namespace), "-m", "first")
	for _, args := range [][]string{{"history"}, {"status"}, {"export"}, {"import", r.dir + "/n.yaml"}} {
		r.has(r.refused(append(args, "--target", "prd")...), "target prd: there is no such target", "default")
	}
	r.run("target", "set", "prod")
	r.run("apply", r.dir+"/n.yaml", "--target", "prod", "-m", "in prod")
	r.run("apply", r.write("b.yaml", backend("blue")), "-m", "later")
	for target, messages := range map[string][]string{"prod": {"in prod"}, "default": {"first", "later"}} {
		got := r.run("history", "--target", target)
		r.has(got, messages...)
		if lines := strings.Count(got, "\n"); lines != len(messages)+1 {
			t.Errorf("history of target %s:\n%s", target, got)
		}
	}
	if got := r.run("history", "--target", "default", "--limit", "1"); strings.Contains(got, "first") ||
		!strings.Contains(got, "older ones: --before 3") {
		t.Errorf("the last change of target default:\n%s", got)
	}
	if got := r.run("status", "--target", "prod"); strings.Count(got, "\n") != 2 {
		t.Errorf("status of target prod:\n%s", got)
	}
}

// TestExportIntoAFolder: files of objects that are gone are removed; files of others are not.
func TestExportIntoAFolder(t *testing.T) {
	r := newRig(t)
	in := r.write("in/a.yaml", namespace+"---\n"+backend("blue")+"---\n"+backend("green")+"---\n"+secret)
	r.run("apply", in)
	out := filepath.Join(r.dir, "out")
	r.write("out/shop/notes.yaml", "# mine\n")
	r.run("export", "--dir", out, "--secrets")
	r.run("delete", "xbackend", "shop/green")
	const gone = "shop/xbackend.gateway.networking.x-k8s.io-green.yaml"
	if got := r.run("export", "--dir", out); got != "removed "+gone+"\n" {
		t.Errorf("the export says %q", got)
	}
	for file, there := range map[string]bool{"shop/notes.yaml": true, gone: false, "shop/secret-key.yaml": true,
		"namespace-shop.yaml": true, strings.Replace(gone, "green", "blue", 1): true} {
		if _, err := os.Stat(filepath.Join(out, file)); (err == nil) != there {
			t.Errorf("%s: %v", file, err)
		}
	}
	if got := r.run("apply", out); !strings.Contains(got, "nothing changes") {
		t.Errorf("what was exported is not what the ledger has: %s", got)
	}
	var list struct{ Items []any }
	if err := json.Unmarshal([]byte(r.run("export", "-o", "json")), &list); err != nil || len(list.Items) != 2 {
		t.Errorf("as JSON, there are %d objects (%v)", len(list.Items), err)
	}
}

// TestExportFollowsNoLinks: links in the folder are replaced, and lead nowhere: what they name stays. A file that has
// another's permissions gets its own before anything is in it.
func TestExportFollowsNoLinks(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("in/a.yaml", namespace+"---\n"+backend("blue")+"---\n"+secret))
	out, victim := filepath.Join(r.dir, "out"), r.write("victim", "mine\n")
	const file = "shop/secret-key.yaml"
	link := func(to, at string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(out, at)); err != nil {
			t.Fatal(err)
		}
	}
	r.write("out/shop/notes.yaml", "# mine\n")
	link(victim, file)
	r.write("out/shop/old", "theirs\n")
	// Who has it open reads what is written into it, but not what replaces it.
	open, err := os.OpenFile(filepath.Join(out, "shop/old"), os.O_RDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	blue := "shop/xbackend.gateway.networking.x-k8s.io-blue.yaml"
	if err := os.Rename(filepath.Join(out, "shop/old"), filepath.Join(out, blue)); err != nil {
		t.Fatal(err)
	}
	link(victim, "shop/xbackend.gateway.networking.x-k8s.io-gone.yaml")
	r.run("export", "--dir", out, "--secrets")
	is, err := os.Lstat(filepath.Join(out, file))
	if err != nil || !is.Mode().IsRegular() || is.Mode().Perm() != 0o600 {
		t.Errorf("the Secret's file is %v, %v", is, err)
	}
	if is, err := os.Lstat(filepath.Join(out, blue)); err != nil || is.Mode().Perm() != 0o644 {
		t.Errorf("another file is %v, %v", is, err)
	}
	if text, err := io.ReadAll(open); err != nil || string(text) != "theirs\n" {
		t.Errorf("the file that was there has %q, %v", text, err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "mine\n" {
		t.Errorf("what the link names has %q, %v", text, err)
	}
	left, err := filepath.Glob(filepath.Join(out, "shop", ".export-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	// A folder that is a link to somewhere else is not written into.
	if err := os.RemoveAll(filepath.Join(out, "shop")); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	link(elsewhere, "shop")
	r.refused("export", "--dir", out, "--secrets")
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
		t.Errorf("the folder that the link names has %v, %v", list, err)
	}
}

// TestVerifyWithoutKey: a key file that is missing is told as that.
func TestVerifyWithoutKey(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("s.yaml", namespace+"---\n"+secret))
	r.has(r.run("verify"), "1 changes")
	if err := os.Rename(r.file+".key", r.file+".gone"); err != nil {
		t.Fatal(err)
	}
	got := r.refused("verify")
	r.has(got, "not checked: 1 contents of Secrets", r.file+".key", "put it back")
	if strings.Contains(got, "wrong") {
		t.Errorf("it looks as if somebody had changed the database: %s", got)
	}
}

// TestWaitingForNobody: it is said who would have to run.
func TestWaitingForNobody(t *testing.T) {
	r := newRig(t)
	file := r.write("n.yaml", namespace)
	r.has(r.refused("apply", file, "--wait", "--timeout", "20ms"), "change 1 is committed", "is not live after 20ms",
		"cardea standalone --ledger")
	r.run("target", "set", "prod", "--server", "Clusters")
	r.has(r.refused("apply", file, "--target", "prod", "--wait", "--timeout", "20ms"), "no cluster serves target prod")
	r.run("cluster", "set", "east")
	r.has(r.refused("wait", "2", "--timeout", "20ms"), "cluster east: it is not applied yet", "cardea ledger serve")
}

// TestUndoIfRefusedStays: a wait that ends early undoes nothing, and says so.
func TestUndoIfRefusedStays(t *testing.T) {
	r := newRig(t)
	r.has(r.refused("apply", r.write("n.yaml", namespace), "--undo-if-refused", "--timeout", "20ms"), "the change is kept",
		"cardea ledger undo 1")

	db, file := r.open(), r.write("b.yaml", backend("blue"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type result struct {
		text string
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		text, err := r.try(ctx, "apply", file, "--undo-if-refused")
		ended <- result{text, err}
	}()
	for _, err := range db.Watch(ctx, 1) {
		if err != nil {
			t.Fatal(err)
		}
		break // change 2 is there
	}
	cancel()
	got := <-ended
	r.has(got.text+got.err.Error(), "interrupted: change 2 is made", "the change is kept", "cardea ledger undo 2")
}

// TestHoldsInHistory: who holds what, and why, and who released it.
func TestHoldsInHistory(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("b.yaml", backend("blue")))
	r.has(r.run("hold", "xbackend", "shop/blue", "--why", "incident 7", "--author", "alice"), "held XBackend shop/blue")
	r.has(r.run("history"), "alice", "hold", "incident 7")
	r.has(r.run("show", "2"), "change 2, hold by alice", "held XBackend shop/blue", "it is held by alice: incident 7")
	r.has(r.run("show", "xbackend", "shop/blue"), "# held by alice: incident 7")
	r.has(r.run("release", "xbackend", "shop/blue", "--author", "bob"), "released XBackend shop/blue")
	r.has(r.run("show", "3"), "change 3, release by bob", "was held by alice: incident 7")
}

// TestListsAreNeverNull: programs read lists.
func TestListsAreNeverNull(t *testing.T) {
	r := newRig(t)
	r.run("target", "set", "prod")
	for _, args := range []string{"status", "history", "cluster list", "token list", "grant list", "proposals", "export"} {
		got := r.run(append(strings.Fields(args), "-o", "json")...)
		if strings.Contains(got, "null") || !strings.Contains(got, "[]") {
			t.Errorf("%s: %s", args, got)
		}
	}
	r.has(r.run("retry", "-o", "json"), `"due": 0`)
}

// TestCompletion: a shell completes words with what the ledger has.
func TestCompletion(t *testing.T) {
	r := newRig(t)
	r.run("target", "set", "prod")
	r.run("cluster", "set", "east")
	r.run("apply", r.write("b.yaml", backend("blue")+"---\n"+namespace), "-m", "the shop")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"show", ""}, "1\tthe shop\nnamespace\nxbackend\n"},
		{[]string{"show", "xbackend", ""}, "shop/blue\n"},
		{[]string{"history", ""}, "namespace\nxbackend\n"},
		{[]string{"delete", "namespace", ""}, "shop\n"},
		{[]string{"undo", ""}, "1\tthe shop\n"},
		{[]string{"target", "set", ""}, "default\nprod\n"},
		{[]string{"history", "--target", ""}, "default\nprod\n"},
		{[]string{"status", "--cluster", ""}, "east\n"},
	} {
		got := r.completes(c.args...)
		if got != c.want {
			t.Errorf("%q is completed to %q, want %q", c.args, got, c.want)
		}
	}
}

// TestPruneKeepsWhatCannotBeRead: a link that leads nowhere hides what the folder states, so nothing is deleted, nor
// even changed. Hidden links are an editor's.
func TestPruneKeepsWhatCannotBeRead(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("all/blue.yaml", backend("blue")))
	folder := filepath.Dir(r.write("some/green.yaml", backend("green")))
	for _, link := range []string{"blue.yaml", "blue", "blue.example", ".#blue.yaml"} {
		path := filepath.Join(folder, link)
		if err := os.Symlink(filepath.Join(r.dir, "nothing"), path); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(link, ".") {
			r.has(r.run("apply", folder, "--prune", "--dry-run"), "deleted XBackend shop/blue")
			continue
		}
		for _, command := range [][]string{{"apply", folder, "--prune"}, {"import", folder}, {"diff", folder}} {
			r.has(r.refused(command...), link+" can't be read: a link to a path that does not exist")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefusedAndUndone: the history says of a change that it was refused, and what undid it; of one that was not, it is
// superseded.
func TestRefusedAndUndone(t *testing.T) {
	r := newRig(t)
	r.run("apply", r.write("a.yaml", backend("blue")))
	both := strings.Replace(backend("blue"), "localhost", "other.example", 1) + "---\n" + backend("green")
	r.run("apply", r.write("a.yaml", both))
	k := ledger.Key{Group: "gateway.networking.x-k8s.io", Kind: "XBackend", Namespace: "shop", Name: "blue"}
	if err := r.open().ReportAnswers(t.Context(), []ledger.Live{{Key: k, Cluster: "here", Gateway: "shop/web",
		Generation: 2,
		Proxies:    1, Refused: "no such host"}}); err != nil {
		t.Fatal(err)
	}
	r.run("undo", "2")
	r.has(r.run("history"), "refused, undone by 3")
	r.has(r.run("history", "xbackend", "shop/blue"), "generation 2, revision 2   refused, undone by 3",
		"generation 1, revision 1   superseded ")
	r.has(r.run("history", "--before", "3"), "refused, superseded")
	r.has(r.run("show", "2"), "refused, undone by 3\n", "revision 2: refused, undone by 3")
	r.has(r.run("show", "1"), ": superseded\n")
}

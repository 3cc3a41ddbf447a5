package ledgerfeed

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/source/synthetic"
)

// A snapshot is all that a target has, as one state, and what is there by itself.
func TestSnapshot(t *testing.T) {
	r := newRig(t)
	r.commit(route("web", "one"), secret("key"))
	r.commit(route("web", "two"), service("blue"))
	r.must(r.store.SetTarget(t.Context(), ledger.Target{Name: "other", Server: ledger.Proxies}, "test"))
	elsewhere := service("green")
	elsewhere.Target = "other"
	r.commit(elsewhere)
	r.must(r.feed.Load(t.Context()))
	r.graph.Settle()
	if !r.feed.HasLoaded() || r.feed.ChangeOf(routeRef("web")) != 2 || r.feed.ChangeOf(ref("Service", "green")) != 0 {
		t.Errorf("loaded is %v, the route is of change %d", r.feed.HasLoaded(), r.feed.ChangeOf(routeRef("web")))
	}
	r.is("HTTPRoute web 2 change 2\nNamespace shop implied\nSecret key 1 change 1\nService blue 1 change 2\n")
	if _, is := r.get(synthetic.Class); !is {
		t.Error("the GatewayClass is not there")
	}
}

// A GatewayClass that the ledger states is not replaced by the one that is there by itself.
func TestStatedClass(t *testing.T) {
	r := newRig(t)
	k, content, err := ledger.ContentOf(ledger.DefaultTarget, map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
		"metadata": map[string]any{"name": synthetic.Class.Name()},
		"spec":     map[string]any{"controllerName": "cardea.dev/gateway-controller", "description": "ours"},
	})
	r.must(err)
	number := r.commit(ledger.Edit{Key: k, Content: content})
	r.must(r.feed.Load(t.Context()))
	r.graph.Settle()
	if o, _ := r.get(synthetic.Class); o.Meta.LastEdit == nil || o.Meta.LastEdit.Change != number {
		t.Errorf("the GatewayClass is of %+v, want change %d", o.Meta.LastEdit, number)
	}
}

// Changes are taken in the order of their numbers, each once, and each in one piece.
func TestChangesInOrder(t *testing.T) {
	r := newRig(t)
	r.run()
	const changes = 50
	for i := range changes {
		name := string(rune('a' + i%5))
		r.commit(route(name, "v"+string(rune('a'+i%26))+string(rune('a'+i/26))), service(name+string(rune('a'+i%3))))
	}
	head, err := r.store.Head(t.Context())
	r.must(err)
	r.taken(head.Change)
	var numbers []int64
	for _, list := range r.fed() {
		for _, o := range list {
			if o.Change != list[0].Change {
				t.Fatalf("changes %d and %d came together", list[0].Change, o.Change)
			}
		}
		if len(list) > 0 {
			numbers = append(numbers, list[0].Change)
		}
	}
	if len(numbers) != int(head.Change) || !slices.IsSorted(numbers) || len(slices.Compact(numbers)) != int(head.Change) {
		t.Errorf("the changes came as %v, want 1 to %d", numbers, head.Change)
	}
}

// counting counts how often objects are read.
type counting struct {
	ledger.Reader
	reads atomic.Int64
}

// Objects implements ledger.Reader.
func (c *counting) Objects(ctx context.Context, q ledger.ObjectsQuery) (ledger.Objects, error) {
	c.reads.Add(1)
	return c.Reader.Objects(ctx, q)
}

// Who is behind by many changes reads what they edited together, and yet takes one after the other; an object that was
// edited twice is taken twice.
func TestBurst(t *testing.T) {
	r := newRig(t)
	reader := &counting{Reader: r.store}
	r.feed.Ledger = reader
	stop := r.run()
	r.taken(r.commit(route("web", "one")))
	stop()
	before, fed := reader.reads.Load(), len(r.fed())
	const changes = 60
	for i := range changes {
		r.commit(service("s" + strconv.Itoa(i)))
	}
	r.commit(route("web", "two"))
	last := r.commit(route("web", "three"))
	r.run()
	r.taken(last)
	if n := reader.reads.Load() - before; n > changes/2 {
		t.Errorf("%d reads for %d changes", n, changes)
	}
	var numbers, want []int64
	for i := range changes + 2 {
		want = append(want, int64(i+2))
	}
	for _, list := range r.fed()[fed:] {
		for _, o := range list {
			numbers = append(numbers, o.Change)
		}
	}
	if !slices.Equal(numbers, want) {
		t.Errorf("the changes came as %v", numbers)
	}
}

// What is deleted goes, and its namespace with the last of it. What is made again goes on in its generations.
func TestDeletion(t *testing.T) {
	r := newRig(t)
	r.run()
	r.commit(route("web", "one"), service("blue"))
	r.taken(r.commit(remove(route("web", "one"))))
	r.is("Namespace shop implied\nService blue 1 change 1\n")
	r.taken(r.commit(remove(service("blue"))))
	r.is("")
	r.taken(r.commit(route("web", "two")))
	r.is("HTTPRoute web 3 change 4\nNamespace shop implied\n")
}

// A Namespace that the ledger has takes the place of the one that is there by itself, which comes back after it.
func TestImpliedNamespace(t *testing.T) {
	r := newRig(t)
	r.run()
	r.commit(service("blue"))
	r.taken(r.commit(namespace()))
	r.is("Namespace shop 1 change 2\nService blue 1 change 1\n")
	r.taken(r.commit(remove(namespace())))
	r.is("Namespace shop implied\nService blue 1 change 1\n")
	r.taken(r.commit(remove(service("blue"))))
	r.is("")
}

// An object that this program's schemas do not take is a problem. What served before goes on.
func TestInvalidObject(t *testing.T) {
	r := newRig(t)
	r.run()
	r.commit(route("web", "one"))
	r.taken(r.commit(replaced(route("web", "two"), "hostnames", "hostnames2"),
		replaced(route("new", "one"), "hostnames", "hostnames2"), service("blue")))
	r.is("HTTPRoute web 1 change 1\nNamespace shop implied\nService blue 1 change 2\n")
	list := r.feed.Problems()
	if len(list) != 2 || list[0].Ref != routeRef("new") || list[0].Stale || list[1].Ref != routeRef("web") ||
		!list[1].Stale || list[1].Change != 2 || !strings.Contains(list[1].Field+list[1].Message, "hostnames2") {
		t.Errorf("the problems are %+v", list)
	}
	if why := r.feed.WhyNotTaken(routeRef("web")); !strings.Contains(why, "hostnames2") {
		t.Errorf("it is not taken because %q", why)
	}
	if n := r.broken(); n != 1 {
		t.Errorf("%d objects are broken, want the one that never was valid", n)
	}
	r.taken(r.commit(route("web", "three"), remove(route("new", ""))))
	r.is("HTTPRoute web 3 change 3\nNamespace shop implied\nService blue 1 change 2\n")
	if list, n := r.feed.Problems(), r.broken(); len(list) > 0 || n > 0 {
		t.Errorf("there are still the problems %+v, and %d broken objects", list, n)
	}
}

// Two programs that follow a ledger which a third one writes to have the same in the end.
func TestTwoFeeds(t *testing.T) {
	one := newRig(t)
	two := one.beside()
	one.run()
	two.run()
	var last int64
	for i := range 20 {
		last = one.commit(route("web", "v"+string(rune('a'+i))))
	}
	one.taken(last)
	two.taken(last)
	one.is("HTTPRoute web 20 change 20\nNamespace shop implied\n")
	two.is("HTTPRoute web 20 change 20\nNamespace shop implied\n")
}

// What a start found valid, the next one does not check again. Nothing of a Secret is kept.
func TestMemory(t *testing.T) {
	first := newRig(t)
	bad := replaced(route("bad", "one"), "hostnames", "nothing")
	first.commit(route("web", "one"), service("blue"), secret("key"), bad)
	first.must(first.feed.Load(t.Context()))
	second := first.beside()
	second.must(second.feed.Load(t.Context()))
	const want = "HTTPRoute web 1 change 1\nNamespace shop implied\nSecret key 1 change 1\nService blue 1 change 1\n"
	first.is(want)
	second.is(want)
	text, err := os.ReadFile(second.feed.Cache.Path())
	first.must(err)
	if valid, _ := second.feed.Cache.Size(); valid != 2 || bytes.Contains(text, []byte("hunter")) {
		t.Errorf("%d contents are remembered, want the route's and the Service's", valid)
	}
	// Who changes a content has it checked: the digest is of the bytes.
	second.commit(replaced(route("web", "one"), "hostnames", "nothing"))
	third := first.beside()
	third.must(third.feed.Load(t.Context()))
	if list := third.feed.Problems(); len(list) != 2 {
		t.Errorf("the problems are %+v", list)
	}
	if names, _ := filepath.Glob(filepath.Join(first.cache, "*")); len(names) != 1 {
		t.Errorf("the cache has %v", names)
	}
}

func routeRef(name string) model.ObjectRef { return model.Ref(model.KindHTTPRoute, "shop", name) }

func ref(kind, name string) model.ObjectRef { return model.Ref(model.KindOf("", kind), "shop", name) }

// What an object protects that can't be read is closed, until there is a good version. A version before it serves on.
func TestClosed(t *testing.T) {
	r := newRig(t)
	policy := func(field string) ledger.Edit {
		return edit("gateway.networking.k8s.io", "v1", "BackendTLSPolicy", "tls", map[string]any{"spec": map[string]any{
			"targetRefs": []any{map[string]any{"group": "", "kind": "Service", "name": "blue"}},
			"validation": map[string]any{field: "a.example", "wellKnownCACertificates": "System"},
		}})
	}
	closed := func() (list []string) {
		r.graph.Settle()
		r.graph.View(func(v flow.View) {
			for _, c := range flow.All(v, r.sources.Closed.Collection()) {
				list = append(list, c.Object.String()+" "+c.Targets[0].String())
			}
		})
		return list
	}
	r.run()
	for _, step := range []struct {
		edit ledger.Edit
		want string
	}{
		{policy("hostnam"), "[BackendTLSPolicy shop/tls Service blue]"},
		{policy("hostname"), "[]"},
		{policy("hostnam"), "[]"},
		{remove(policy("hostname")), "[]"},
		{policy("hostnam"), "[BackendTLSPolicy shop/tls Service blue]"},
		{remove(policy("hostname")), "[]"},
	} {
		r.taken(r.commit(step.edit))
		if got := fmt.Sprint(closed()); got != step.want {
			t.Errorf("closed are %s, want %s", got, step.want)
		}
	}
}

// TestKeyIsLost: a Secret that can't be opened is a problem of its own, also at the start; what is no Secret is served,
// and so is the Secret when its key file is back.
func TestKeyIsLost(t *testing.T) {
	r := newRig(t)
	r.commit(route("web", "one"), secret("key"))
	path, err := r.store.KeyFile(t.Context())
	r.must(err)
	r.must(os.Rename(path, path+".lost"))
	again := r.beside()
	again.feed.reopenInterval = time.Millisecond
	again.run()
	again.is("HTTPRoute web 1 change 1\nNamespace shop implied\n")
	list := again.feed.Problems()
	if len(list) != 1 || list[0].Ref != ref("Secret", "key") || !strings.Contains(list[0].Message, "put it back") {
		t.Errorf("the problems are %+v", list)
	}
	again.taken(again.commit(route("web", "two")))
	r.must(os.Rename(path+".lost", path))
	again.followed()
	again.is("HTTPRoute web 2 change 2\nNamespace shop implied\nSecret key 1 change 1\n")
}

// reads is a ledger that counts what is asked of it, and tells whether a read of objects had to end by some time.
type reads struct {
	ledger.Reader
	heads, watches, hurried atomic.Int64
}

func (r *reads) Head(ctx context.Context) (ledger.Head, error) {
	r.heads.Add(1)
	return r.Reader.Head(ctx)
}

func (r *reads) Watch(ctx context.Context, from int64) iter.Seq2[ledger.Change, error] {
	r.watches.Add(1)
	return r.Reader.Watch(ctx, from)
}

func (r *reads) Objects(ctx context.Context, q ledger.ObjectsQuery) (ledger.Objects, error) {
	if _, bounded := ctx.Deadline(); bounded {
		r.hurried.Add(1)
	}
	return r.Reader.Objects(ctx, q)
}

// TestSealedWhileFollowed: a Secret that can't be opened comes while the ledger is followed. Its key file is looked for
// from then on, without a pause between watches, and without a bound on what is read. A snapshot that has the Secret no
// more ends that.
func TestSealedWhileFollowed(t *testing.T) {
	writer := newRig(t)
	writer.commit(route("web", "one"), secret("key"))
	writer.commit(remove(secret("key")))
	path, err := writer.store.KeyFile(t.Context())
	writer.must(err)
	writer.must(os.Rename(path, path+".lost"))
	r := writer.beside()
	asked := &reads{Reader: r.store}
	r.feed.Ledger, r.feed.reopenInterval = asked, time.Millisecond
	stop := r.run()
	r.taken(writer.commit(secret("key")))
	r.eventually(func() string {
		if n := asked.watches.Load(); n < 20 {
			return fmt.Sprintf("the ledger was watched %d times", n)
		}
		return ""
	})
	if asked.heads.Load() > 1 || asked.hurried.Load() > 0 {
		t.Errorf("%d heads, %d bounded reads", asked.heads.Load(), asked.hurried.Load())
	}
	r.must(os.Rename(path+".lost", path))
	r.followed()
	r.is("HTTPRoute web 1 change 1\nNamespace shop implied\nSecret key 3 change 3\n")
	stop()

	r.must(os.Rename(path, path+".lost"))
	r = writer.beside()
	r.must(r.feed.Load(t.Context()))
	if len(r.feed.sealedSecrets) != 1 {
		t.Errorf("sealed are %v", r.feed.sealedSecrets)
	}
	writer.commit(remove(secret("key")))
	r.must(r.feed.Load(t.Context()))
	if len(r.feed.sealedSecrets) != 0 {
		t.Errorf("sealed are %v though the Secret is gone", r.feed.sealedSecrets)
	}
}

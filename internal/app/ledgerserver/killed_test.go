package ledgerserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/client"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/test/kubetest"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// waitTimeout is how long a test waits for what must happen.
const waitTimeout = time.Minute

// steps are where a server ends itself by SIGKILL: while it commits, or while its worker applies or deletes.
var steps = []struct {
	failpoint string
	worker    bool // the server applies, too
}{
	{"", true},
	{"before-write", false}, {"before-commit", false}, {"after-commit", false}, {"before-answer", false},
	{"before-write", true}, {"before-answer", true}, {"after-claim", true}, {"apply-claimed", true},
	{"apply-read", true}, {"apply-write", true}, {"apply-written", true}, {"apply-applied", true},
	{"before-record", true}, {"after-record", true}, {"apply-recorded", true}, {"apply-delete", true},
	{"apply-deleted", true},
}

// TestKilled: whatever step `cardea ledger serve` is killed at while clients make changes, what it acknowledged is
// kept, what it did not is there as a whole or not at all, and a repeated request is one change. Numbers have no gap.
// In the end the cluster has what the ledger has, and each object was written once.
func TestKilled(t *testing.T) {
	kubetest.Require(t)
	cluster := kubetest.Start(t, kubetest.Options{})
	program := build(t)
	for name, url := range map[string]func() string{
		"file":     func() string { return filepath.Join(t.TempDir(), "ledger.db") },
		"postgres": func() string { return postgrestest.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKilled(t, cluster, url(), program, name)
			for round := range steps {
				k.round(round)
			}
			k.check()
		})
	}
}

// killed is a ledger whose servers are killed, and a namespace that they apply it to.
type killed struct {
	*store.Store
	t         *testing.T
	cluster   *kubetest.Cluster
	namespace string
	servers   *servers
	token     string

	mu       sync.Mutex
	made     map[string]ledger.Change // what was acknowledged, by request
	drafts   map[string]ledger.Draft
	written  map[string][]watch.EventType // what happened to objects in the cluster, by name
	watching sync.WaitGroup
}

func newKilled(t *testing.T, cluster *kubetest.Cluster, url, program, name string) *killed {
	t.Helper()
	k := &killed{t: t, cluster: cluster, namespace: "killed-" + name, made: map[string]ledger.Change{},
		drafts: map[string]ledger.Draft{}, written: map[string][]watch.EventType{}}
	var err error
	k.Store, err = store.Open(t.Context(), store.Config{URL: url})
	k.must(err)
	t.Cleanup(func() { _ = k.Close() })
	k.must(k.SetCluster(t.Context(), ledger.Cluster{Name: "east", Kubeconfig: cluster.Kubeconfig}, "test"))
	k.must(k.SetTarget(t.Context(), ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Clusters}, "test"))
	token, hash := auth.MintToken()
	k.token = token
	k.must(k.SetToken(t.Context(), ledger.Token{Name: "a", Subject: "alice", Hash: hash}, "test"))
	k.must(k.SetGrant(t.Context(), ledger.Grant{Name: "all", Subjects: []string{"alice"},
		Permissions: []ledger.Permission{"*"}}, "test"))
	_, err = cluster.Client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.namespace}}, metav1.CreateOptions{})
	k.must(err)
	k.servers = &servers{t: t, program: program, url: url}
	k.watch()
	return k
}

func (k *killed) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

// watch notes what happens to objects in the cluster, until the test ends.
func (k *killed) watch() {
	k.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	events, err := k.cluster.Client.CoreV1().ConfigMaps(k.namespace).Watch(ctx, metav1.ListOptions{})
	k.must(err)
	k.watching.Go(func() {
		for e := range events.ResultChan() {
			if o, is := e.Object.(*corev1.ConfigMap); is {
				k.mu.Lock()
				k.written[o.Name] = append(k.written[o.Name], e.Type)
				k.mu.Unlock()
			}
		}
	})
	k.t.Cleanup(func() {
		stop()
		events.Stop()
		k.watching.Wait()
	})
}

// clients is how many make changes at a time, and changes how many each makes in a round.
const clients, changes = 3, 2

// round has clients make changes while a server is killed at a step, and another one takes its place.
func (k *killed) round(number int) {
	k.t.Helper()
	step := steps[number]
	first := k.servers.start(step.failpoint, step.worker)
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for j := range changes {
				k.change(fmt.Sprintf("r%dc%dn%d", number, i, j), number)
			}
		})
	}
	if step.failpoint != "" {
		first.killed(step.failpoint)
	} else {
		group.Wait() // so that the cluster has something that can be deleted
		k.applied()
		first.stop()
	}
	second := k.servers.start("", step.worker)
	group.Wait()
	second.stop()
}

// change makes a change of two new objects. In the rounds of deletions it deletes one of the first round, too.
func (k *killed) change(name string, round int) {
	d := ledger.Draft{Message: name, Request: name}
	for _, part := range []string{"a", "b"} {
		d.Edits = append(d.Edits, k.edit(name+part))
	}
	if at := strings.Index(name, "c"); strings.HasPrefix(steps[round].failpoint, "apply-delete") {
		half := map[string]string{"apply-delete": "a", "apply-deleted": "b"}[steps[round].failpoint]
		e := k.edit("r0" + name[at:] + half)
		e.Content, e.Delete = nil, true
		d.Edits = append(d.Edits, e)
	}
	made := k.commit(d)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.made[name], k.drafts[name] = made, d
}

func (k *killed) edit(name string) ledger.Edit {
	key, content, err := ledger.ContentOf(ledger.DefaultTarget, map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "namespace": k.namespace}, "data": map[string]any{"name": name}})
	if err != nil {
		k.t.Error(err)
	}
	return ledger.Edit{Key: key, Content: content}
}

// commit sends a draft until a server acknowledges it.
func (k *killed) commit(d ledger.Draft) (made ledger.Change) {
	err := errors.New("no server listened")
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		address := k.servers.address()
		if address == "" {
			continue
		}
		var asked *client.Client
		if asked, err = client.New(client.Config{URL: "http://" + address, Token: k.token}); err != nil {
			break
		}
		made, err = asked.Commit(context.Background(), d)
		asked.Close()
		if err == nil {
			return made
		}
		if code := ledger.CodeOf(err); code != ledger.Unavailable {
			break
		}
	}
	k.t.Errorf("%s was not committed: %v", d.Request, err)
	return made
}

// applied waits until nothing is due.
func (k *killed) applied() {
	k.t.Helper()
	var left []ledger.Status
	for end := time.Now().Add(waitTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		left, err = k.Status(k.t.Context(), ledger.StatusQuery{Cluster: "east", Pending: true})
		k.must(err)
		if len(left) == 0 {
			return
		}
	}
	k.t.Fatalf("%d objects are not applied, the first is %+v", len(left), left[0])
}

// check compares what was acknowledged, the ledger and the cluster.
func (k *killed) check() {
	k.t.Helper()
	last := k.servers.start("", true)
	defer last.stop()
	k.applied()
	v, err := k.Verify(k.t.Context())
	k.must(err)
	if len(v.Wrong) > 0 || v.Changes != int64(len(steps)*clients*changes) {
		k.t.Errorf("the ledger is %+v", v)
	}
	numbers := map[int64]string{}
	for name, made := range k.made {
		numbers[made.Number] = name
		kept, err := k.Change(k.t.Context(), made.Number)
		if err != nil || kept.Message != name || len(kept.Edited) != len(k.drafts[name].Edits) {
			k.t.Errorf("change %d of %s is %+v, %v", made.Number, name, kept, err)
		}
		again := k.commit(k.drafts[name])
		if !again.Repeated || again.Number != made.Number {
			k.t.Errorf("%s was change %d, and sent again it is %d", name, made.Number, again.Number)
		}
	}
	for n := range int64(len(k.made)) {
		if numbers[n+1] == "" {
			k.t.Errorf("nobody made change %d", n+1)
		}
	}
	k.clusterHas()
}

// clusterHas compares the cluster with the ledger.
func (k *killed) clusterHas() {
	k.t.Helper()
	wanted := map[string]int64{}
	page, err := k.Objects(k.t.Context(), ledger.ObjectsQuery{Limit: 1000})
	k.must(err)
	for _, o := range page.Objects {
		wanted[o.Name] = o.Generation
	}
	list, err := k.cluster.Client.CoreV1().ConfigMaps(k.namespace).List(k.t.Context(), metav1.ListOptions{})
	k.must(err)
	has := map[string]int64{}
	for _, o := range list.Items {
		if o.Annotations[ledger.ObjectAnnotation] != "" {
			var n int64
			if _, err := fmt.Sscan(o.Annotations[ledger.GenerationAnnotation], &n); err != nil || o.Data["name"] != o.Name {
				k.t.Errorf("%s is %v", o.Name, o)
			}
			has[o.Name] = n
		}
	}
	if !maps.Equal(wanted, has) {
		k.t.Errorf("the cluster has %v, want %v", has, wanted)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	once, deleted := []watch.EventType{watch.Added}, []watch.EventType{watch.Added, watch.Deleted}
	for name, d := range k.drafts {
		for _, e := range d.Edits {
			events := k.written[e.Name]
			if _, is := wanted[e.Name]; is && !slices.Equal(events, once) || !is && !slices.Equal(events, deleted) {
				k.t.Errorf("%s of %s was written so: %v", e.Name, name, events)
			}
		}
	}
}

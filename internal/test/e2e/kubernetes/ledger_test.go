package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/app/ledgerserver"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/apply"
	tokens "cardea.dev/cardea/internal/ledger/auth"
	remote "cardea.dev/cardea/internal/ledger/client"
	"cardea.dev/cardea/internal/ledger/store"
)

// ledgerStage is a stage with a ledger of its own, which is asked over HTTP.
type ledgerStage struct {
	*stage
	*remote.Client
	db  *store.Store
	url string
}

// newLedger serves a ledger whose target default is this cluster. push: the server applies it.
func newLedger(t *testing.T, push bool) *ledgerStage {
	s := &ledgerStage{stage: newStage(t)}
	file := filepath.Join(t.TempDir(), "ledger.db")
	var err error
	if s.db, err = store.Open(t.Context(), store.Config{URL: file}); err != nil {
		t.Fatal(err)
	}
	token, hash := tokens.MintToken()
	cluster := ledger.Cluster{Name: "test"}
	if push {
		cluster.Kubeconfig = s.Kubeconfig
	}
	for _, err := range []error{
		s.db.SetTarget(t.Context(), ledger.Target{Name: ledger.DefaultTarget, Server: ledger.Clusters}, "test"),
		s.db.SetCluster(t.Context(), cluster, "test"),
		s.db.SetToken(t.Context(), ledger.Token{Name: "alice", Subject: "alice", Hash: hash}, "test"),
		s.db.SetGrant(t.Context(), ledger.Grant{Name: "all", Subjects: []string{"alice"},
			Permissions: []ledger.Permission{"*"}}, "test"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	listening, ended := make(chan string, 1), make(chan error, 1)
	running.Go(func() {
		ended <- ledgerserver.Run(ctx, ledgerserver.Options{
			Catalog: world.NewCatalog(), URL: file, Addr: "127.0.0.1:0", Worker: "worker",
			OnListen: func(a string) { listening <- a },
		})
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := errors.Join(<-ended, s.db.Close()); err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-listening:
		s.url = "http://" + a
	case err := <-ended:
		t.Fatal(err)
	}
	if s.Client, err = remote.New(remote.Config{URL: s.url, Token: token, Via: "test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Client.Close)
	return s
}

// change makes the objects of a text one change.
func (s *ledgerStage) change(message, text string) ledger.Change {
	s.Helper()
	d := ledger.Draft{Message: message}
	for _, doc := range strings.Split(text, "---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			s.Fatal(err)
		}
		if object == nil {
			continue
		}
		k, content, err := ledger.ContentOf(ledger.DefaultTarget, object)
		if err != nil {
			s.Fatal(err)
		}
		d.Edits = append(d.Edits, ledger.Edit{Key: k, Content: content})
	}
	return s.commits(d)
}

func (s *ledgerStage) commits(d ledger.Draft) ledger.Change {
	s.Helper()
	c, err := s.Commit(context.Background(), d)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// reaches waits until a change is at a stage.
func (s *ledgerStage) reaches(c ledger.Change, want ledger.Stage) {
	s.Helper()
	s.until(fmt.Sprintf("change %d is %s", c.Number, want), func() (string, bool) {
		list, err := s.Client.Status(context.Background(), ledger.StatusQuery{Change: c.Number})
		stage, progress := ledger.ProgressOf(c, list)
		return fmt.Sprintf("%s: %+v, %v", stage, progress, err), err == nil && stage == want
	})
}

// TestLedgerInCluster: a gateway with its pods comes from a ledger, is changed, drifts, goes back and goes, each time
// as the proxies acknowledge; the route says whose change it is.
func TestLedgerInCluster(t *testing.T) {
	s := newLedger(t, true)
	objects := func(to string) string { return route(s.namespace, "web", "edge", "shop.example", to) }
	first := s.change("the shop", echo(s.namespace, "blue", 1)+echo(s.namespace, "green", 1)+
		gateway(s.namespace, "edge")+objects("blue"))
	s.reaches(first, ledger.IsLive)
	address := s.address("edge")
	s.gets(address, "shop.example", "/", by("blue"))

	second := s.change("green is ready", objects("green"))
	s.reaches(second, ledger.IsLive)
	if a, err := s.get(address, "shop.example", "/"); err != nil || !by("green")(a) {
		t.Errorf("the change is live, and yet %+v, %v", a, err)
	}
	found, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for note, want := range map[string]string{ledger.ChangeAnnotation: fmt.Sprint(second.Number),
		ledger.GenerationAnnotation: "2", ledger.AuthorAnnotation: "alice", ledger.MessageAnnotation: "green is ready"} {
		if got := found.Annotations[note]; got != want {
			t.Errorf("%s is %q, want %q", note, got, want)
		}
	}

	// Somebody edits the route by hand.
	patch := []byte(`{"spec":{"hostnames":["other.example"]}}`)
	if _, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Patch(t.Context(), "web", types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	s.until("the edit is corrected", func() (string, bool) {
		r, err := s.api.GatewayV1().HTTPRoutes(s.namespace).Get(context.Background(), "web", metav1.GetOptions{})
		return fmt.Sprint(r.Spec.Hostnames, err), err == nil && slices.Equal(r.Spec.Hostnames,
			[]gatewayv1.Hostname{"shop.example"})
	})

	// What controllers refuse is told in their words.
	wrong := s.change("a mistake", strings.Replace(objects("green"), "name: edge", "name: edge, sectionName: none", 1))
	s.reaches(wrong, ledger.IsRefused)
	undo, err := s.Commit(t.Context(), ledger.Draft{Verb: ledger.Undo, Of: wrong.Number, Back: &ledger.Back{}})
	if err != nil {
		t.Fatal(err)
	}
	s.reaches(undo, ledger.IsLive)
	s.gets(address, "shop.example", "/", by("green"))

	back, err := s.Commit(t.Context(), ledger.Draft{Verb: ledger.Rollback, Of: first.Number, Back: &ledger.Back{
		Objects: []ledger.Key{{Target: ledger.DefaultTarget, Group: "gateway.networking.k8s.io", Kind: "Gateway",
			Namespace: s.namespace, Name: "edge"}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.reaches(back, ledger.IsLive)
	s.gets(address, "shop.example", "/", by("blue"))

	// A Deployment that the API server would not take is not taken by the ledger.
	bad := strings.Replace(echo(s.namespace, "red", 1), "matchLabels: {app: red}", "matchLabels: {app: blue}", 1)
	var object map[string]any
	if err := yaml.Unmarshal([]byte(strings.Split(bad, "---\n")[1]), &object); err != nil {
		t.Fatal(err)
	}
	k, content, err := ledger.ContentOf(ledger.DefaultTarget, object)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Commit(t.Context(), ledger.Draft{Edits: []ledger.Edit{{Key: k, Content: content}}})
	if ledger.CodeOf(err) != ledger.Invalid || !strings.Contains(err.Error(), "selector") {
		t.Errorf("a Deployment that is not valid: %v", err)
	}

	var gone ledger.Draft
	for _, e := range first.Edited {
		gone.Edits = append(gone.Edits, ledger.Edit{Key: e.Key, Delete: true})
	}
	s.reaches(s.commits(gone), ledger.IsLive)
	list, err := s.api.GatewayV1().HTTPRoutes(s.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("deleted, and yet there are %d routes (%v)", len(list.Items), err)
	}
}

// TestLedgerIsPulled: a worker in the cluster, which knows a URL and a token and no database, applies the same.
func TestLedgerIsPulled(t *testing.T) {
	s := newLedger(t, false)
	token, hash := tokens.MintToken()
	own := ledger.Token{Name: "worker", Subject: "worker", Cluster: "test", Hash: hash}
	if err := s.db.SetToken(t.Context(), own, "test"); err != nil {
		t.Fatal(err)
	}
	asked, err := remote.New(remote.Config{URL: s.url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(asked.Close)
	work := asked.ForCluster("test")
	worker, err := apply.New(apply.Config{Work: work, Targets: work.Targets, News: work.WaitForNews,
		REST: s.Config, Cluster: "test", Worker: "pod", Catalog: world.NewCatalog()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := worker.Run(ctx); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: " + s.namespace +
		"}\nstringData: {word: open}\n"
	c := s.change("by the cluster's own worker", service(s.namespace, "blue", "blue")+"---\n"+secret)
	s.reaches(c, ledger.IsLive)
	got, err := s.Cluster.Client.CoreV1().Secrets(s.namespace).Get(t.Context(), "key", metav1.GetOptions{})
	if err != nil || !bytes.Equal(got.Data["word"], []byte("open")) {
		t.Errorf("the Secret is %v, %v", got.Data, err)
	}

	// The way into a ledger of what is in a cluster: as its author stated it, without what controllers made.
	var found []string
	err = apply.ListObjects(t.Context(), s.Config, schema.GroupKind{Kind: "Service"}, s.namespace,
		func(o map[string]any) error {
			k, content, err := ledger.ContentOf(ledger.DefaultTarget, o)
			if text := string(content); strings.Contains(text, "resourceVersion") ||
				strings.Contains(text, ledger.AnnotationPrefix) {
				t.Errorf("the content has what servers write: %s", content)
			}
			found = append(found, k.Name)
			return err
		})
	if err != nil || !slices.Equal(found, []string{"blue"}) {
		t.Errorf("the cluster has %v (%v)", found, err)
	}
}

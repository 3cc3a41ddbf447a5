package proxies_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/files"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
)

// onFiles has the proxies read files.
func onFiles(x *plan.ProxySpec) { x.DataPlane = naming.FilesDataPlane }

// empty are the files of a Gateway without listeners, with one more in each folder.
func empty(t *testing.T, ref model.ObjectRef, store dataplane.FileFolders) dataplane.FileSet {
	t.Helper()
	step, err := files.Dialect().Files.NextStep(store, dataplane.FileSet{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	step.Files.Plain["more.json"] = []byte("{}")
	step.Files.Keys = map[string][]byte{"key.json": []byte(ref.String())}
	return step.Files
}

func (p *place) fileMap() (*corev1.ConfigMap, error) {
	return p.Client.CoreV1().ConfigMaps(p.namespace).
		Get(context.Background(), p.proxy.Name+"-files", metav1.GetOptions{})
}

func (p *place) fileSecret() (*corev1.Secret, error) {
	return p.Client.CoreV1().Secrets(p.namespace).
		Get(context.Background(), p.proxy.Name+"-keys", metav1.GetOptions{})
}

// filesAre waits until what is written is this; it is asked for when somebody says that it changed.
func (p *place) filesAre(want dataplane.FileSet, at time.Time) {
	p.t.Helper()
	p.eventually(func() error {
		set, written, err := p.deployer.Files().Read(p.t.Context(), p.ref)
		if err == nil && (!set.Equal(want) || !written.Equal(at)) {
			err = fmt.Errorf("at %v: %v", written, set.FileNames())
		}
		return err
	})
}

// changed waits until the store says that somebody changed files, so often in all.
func (p *place) changed(times int) {
	p.t.Helper()
	p.eventually(func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if n := p.files[p.ref]; n < times {
			return fmt.Errorf("it was said %d times, want %d", n, times)
		}
		return nil
	})
}

// TestFiles writes files that a proxy starts with, and changes and deletes what was written. A Gateway that gets
// another data plane keeps them until its pods are replaced.
func TestFiles(t *testing.T) {
	p := newPlace(t)
	p.plan(onFiles)
	store, at := p.deployer.Files(), time.Now().Add(-time.Hour)
	p.eventually(func() error {
		if store.Location(p.ref) == "" {
			return errors.New("the plan is not known yet")
		}
		return nil
	})
	if set, written, err := store.Read(t.Context(), p.ref); err != nil || set.FileCount() > 0 || !written.IsZero() {
		t.Fatalf("before the first write there is %v of %v, %v", set.FileNames(), written, err)
	}
	files := empty(t, p.ref, store.Folders(p.ref))
	if err := store.Write(t.Context(), p.ref, files, at); err != nil {
		t.Fatal(err)
	}
	p.filesAre(files, at)
	p.pods(1)
	want := "ConfigMap " + p.namespace + "/" + p.proxy.Name + "-files"
	if where := store.Location(p.ref); where != want {
		t.Errorf("they are in %q, want %q", where, want)
	}
	p.filesAreMended(files, at)

	p.plan(func(x *plan.ProxySpec) { x.DataPlane = naming.DataPlane })
	p.eventually(func() error {
		_, err1 := p.fileMap()
		_, err2 := p.fileSecret()
		if !apierrors.IsNotFound(err1) || !apierrors.IsNotFound(err2) {
			return errors.New("the files are there still")
		}
		return nil
	})
	pod := p.pods(1)[0]
	if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil }) {
		t.Error("the files were deleted before their pod had ended")
	}
}

// filesAreMended has others change the objects.
func (p *place) filesAreMended(files dataplane.FileSet, at time.Time) {
	p.t.Helper()
	ctx, store, by := p.t.Context(), p.deployer.Files(), metav1.PatchOptions{FieldManager: "somebody"}
	maps, secrets := p.Client.CoreV1().ConfigMaps(p.namespace), p.Client.CoreV1().Secrets(p.namespace)
	for i, c := range []struct {
		what      string
		do        func() error
		rewritten bool
	}{
		{"a file is changed", func() error {
			_, err := maps.Patch(ctx, p.proxy.Name+"-files", types.MergePatchType, []byte(`{"data":{"more.json":"x"}}`), by)
			return err
		}, true},
		{"keys are deleted", func() error {
			return secrets.Delete(ctx, p.proxy.Name+"-keys", metav1.DeleteOptions{})
		}, true},
		{"a label and the owner are taken", func() error {
			_, err := maps.Patch(ctx, p.proxy.Name+"-files", types.JSONPatchType,
				[]byte(`[{"op":"remove","path":"/metadata/labels"},{"op":"remove","path":"/metadata/ownerReferences"}]`), by)
			return err
		}, false},
	} {
		p.t.Log(c.what)
		if err := c.do(); err != nil {
			p.t.Fatal(err)
		}
		p.changed(i + 1)
		if c.rewritten {
			set, _, err := store.Read(ctx, p.ref)
			if err != nil || set.Equal(files) {
				p.t.Errorf("what is written: %v, %v", set.FileNames(), err)
			}
			if err := store.Write(ctx, p.ref, files, at); err != nil {
				p.t.Fatal(err)
			}
		}
		p.filesAre(files, at)
	}
	object, err := p.fileMap()
	if err != nil || len(object.OwnerReferences) == 0 || object.Labels["app.kubernetes.io/managed-by"] != "cardea" {
		p.t.Errorf("the ConfigMap has labels %v and owners %v, %v", object.Labels, object.OwnerReferences, err)
	}
	p.plan(func(x *plan.ProxySpec) { x.Labels = map[string]string{"team": "blue"} })
	p.changed(4)
	p.filesAre(files, at)
	if object, err := p.fileSecret(); err != nil || object.Labels["team"] != "blue" {
		p.t.Errorf("the Secret has labels %v, %v", object.Labels, err)
	}
}

// TestFilesOfOthers: an object that somebody else made is neither read nor written, and the Gateway says which it is.
func TestFilesOfOthers(t *testing.T) {
	p := newPlace(t)
	if _, err := p.Client.CoreV1().Secrets(p.namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name + "-keys"},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	theirs := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: p.proxy.Name + "-files"}, Data: map[string]string{"theirs": "yes"},
	}
	configMaps := p.Client.CoreV1().ConfigMaps(p.namespace)
	if _, err := configMaps.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.plan(onFiles)
	p.frontIs(func(f model.Front) bool {
		return f.Reason == "NoResources" && strings.HasPrefix(f.Message, "Secret "+p.proxy.Name+"-keys exists")
	})
	_, _, err := p.deployer.Files().Read(t.Context(), p.ref)
	if want := "Secret " + p.proxy.Name + "-keys exists and does not belong to Cardea"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := p.Client.CoreV1().Secrets(p.namespace).
		Delete(t.Context(), p.proxy.Name+"-keys", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, _, err = p.deployer.Files().Read(t.Context(), p.ref) // one that is missing does not hide the other
	if want := "ConfigMap " + p.proxy.Name + "-files exists and does not belong to Cardea"; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := configMaps.Delete(t.Context(), theirs.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestMistakenDataPlane: a DataPlane that asks for another proxy, and for what the API server does not take, changes
// nothing; nor does it, or one that is missing, for a Deployer that has just started.
func TestMistakenDataPlane(t *testing.T) {
	p := newPlace(t)
	p.plan(func(x *plan.ProxySpec) {
		onFiles(x)
		x.Parameters = parameters(t, `{replicas: 0}`)
		x.Labels = map[string]string{"cardea.dev/files": "mine"}
	})
	f := p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 })
	if !strings.Contains(f.Note, "Cardea sets cardea.dev/files itself") {
		t.Errorf("the note is %q", f.Note)
	}
	var before map[string]string
	p.eventually(func() (err error) {
		before, err = p.state()
		return err
	})
	p.plan(func(x *plan.ProxySpec) {
		x.DataPlane = naming.DataPlane
		x.Parameters = parameters(t, `{replicas: 0, pod: {drainSeconds: 7, nodeSelector: {"not a label": x}}}`)
	})
	p.frontIs(func(f model.Front) bool { return f.Reason == "InvalidParameters" })
	p.isAgain(before)
	p.graph.Apply("test", func(b *flow.Batch) { p.proxies.Delete(b, p.ref) }) // the Deployers below have it
	mistaken, unknown := p.proxy, p.proxy
	unknown.Accepted, unknown.Parameters = false, nil
	for _, proxy := range []plan.ProxySpec{unknown, mistaken} {
		p.restart(proxy, func(*proxies.Config) {}, func(front func() model.Front) {
			p.eventually(func() error {
				if f := front(); len(f.Addresses) != 1 || proxy.Accepted && f.Reason != "InvalidParameters" {
					return fmt.Errorf("the front is %+v", f)
				}
				return nil
			})
			p.isAgain(before)
		})
	}
}

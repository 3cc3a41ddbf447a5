package apply

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"

	"cardea.dev/cardea/internal/core/ledger"
)

// TestHandEditIsCorrected: what somebody changes in a Deployment is made as the ledger wants it, and the log names the
// field, what was wanted and found, and the manager.
func TestHandEditIsCorrected(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(deploymentText).Key
	s.put(deploymentText)
	s.synced(k)
	image := func(o *unstructured.Unstructured) string {
		list, _ := field(o, "spec", "template", "spec", "containers").([]any)
		return list[0].(map[string]any)["image"].(string)
	}
	var edited *unstructured.Unstructured
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() (err error) { // controllers write it, too
		o := s.live(k).DeepCopy()
		list := field(o, "spec", "template", "spec", "containers").([]any)
		list[0].(map[string]any)["image"] = "example.com/web:2"
		edited, err = s.place(k).Update(t.Context(), o, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
		return err
	}))
	s.isThere(k, func(o *unstructured.Unstructured) bool {
		return image(o) == "example.com/web:1" && o.GetResourceVersion() != edited.GetResourceVersion()
	})
	s.synced(k)
	s.said(`spec.template.spec.containers[name=web].image: wanted \"example.com/web:1\", found \"example.com/web:2\"`,
		"by=kubectl-edit did=corrected")
	if n := s.counted("cardea_ledger_drift_total", "corrected"); n != 1 {
		t.Errorf("%v corrections", n)
	}
	if strings.Contains(s.log.String(), "cpu: wanted") {
		t.Error("0.5 and 500m are called different")
	}
}

// said waits until a line of the log has all of some texts.
func (s *stage) said(texts ...string) {
	s.t.Helper()
	s.eventually(func() error {
		for line := range strings.Lines(s.log.String()) {
			all := true
			for _, text := range texts {
				all = all && strings.Contains(line, text)
			}
			if all {
				return nil
			}
		}
		return fmt.Errorf("%q was not logged", texts)
	})
}

// TestScaledReplicasAreNoDrift: a field that the ledger does not state is another's.
func TestScaledReplicasAreNoDrift(t *testing.T) {
	s := newStage(t)
	s.run()
	text := strings.ReplaceAll(deploymentText, "  replicas: 0\n", "")
	k := s.edit(text).Key
	s.put(text)
	s.synced(k)
	_, err := s.cluster.Client.AppsV1().Deployments(s.namespace).UpdateScale(t.Context(), "web", &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: s.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: 3},
	}, metav1.UpdateOptions{FieldManager: "horizontal-pod-autoscaler"})
	s.must(err)
	s.merge(k, "somebody", `{"metadata":{"labels":{"theirs":"yes"}}}`)
	s.barrier(k)
	if o := s.live(k); field(o, "spec", "replicas") != int64(3) || o.GetLabels()["theirs"] != "yes" {
		t.Errorf("the object is %v", o.Object)
	}
	if n := s.counted("cardea_ledger_drift_total", ""); n != 1 {
		t.Errorf("%v times drift, want that of the barrier", n)
	}
}

// barrier waits until the watch has come to what an object is now: a later edit of it was seen and corrected.
func (s *stage) barrier(k ledger.Key) {
	s.t.Helper()
	before := s.counted("cardea_ledger_drift_total", "corrected")
	s.merge(k, "barrier", `{"metadata":{"annotations":{"`+ledger.ChangeAnnotation+`":null}}}`)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return o.GetAnnotations()[ledger.ChangeAnnotation] != "" })
	s.synced(k)
	// the barrier's own correction
	s.eventually(func() error {
		if n := s.counted("cardea_ledger_drift_total", "corrected"); n <= before {
			return fmt.Errorf("%v corrections", n)
		}
		return nil
	})
}

// TestRemovedMarksComeBack: who removes the annotations, all of them or even our entry of managedFields, hides nothing.
func TestRemovedMarksComeBack(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(routeText).Key
	s.put(routeText)
	s.synced(k)
	s.merge(k, "somebody", `{"metadata":{"annotations":null}}`)
	o := s.isThere(k, func(o *unstructured.Unstructured) bool { return generationOf(o) == 1 })
	marked(t, o, 1, 1, 1)
	s.synced(k)
	s.merge(k, "somebody", `{"metadata":{"managedFields":[{}],"annotations":null}}`)
	o = s.isThere(k, func(o *unstructured.Unstructured) bool { return generationOf(o) == 1 && ourVersion(o) != "" })
	marked(t, o, 1, 1, 1)
	s.synced(k)
}

// TestDeletedByHandComesBack as another object of the same generation.
func TestDeletedByHandComesBack(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(routeText).Key
	s.put(routeText)
	s.synced(k)
	before := s.live(k)
	s.must(s.place(k).Delete(t.Context(), k.Name, metav1.DeleteOptions{}))
	after := s.isThere(k, func(o *unstructured.Unstructured) bool { return o.GetUID() != before.GetUID() })
	marked(t, after, 1, 1, 1)
	s.synced(k)
	s.said("what=\"was deleted\"", "did=corrected")
}

// TestDeletionWhileAwayIsSeen: what happened while no worker ran is found by the list.
func TestDeletionWhileAwayIsSeen(t *testing.T) {
	s := newStage(t)
	stop := s.run()
	k, other := s.edit(routeText).Key, s.edit(configText).Key
	s.put(routeText, configText)
	s.synced(k)
	s.synced(other)
	stop()
	s.must(s.place(k).Delete(t.Context(), k.Name, metav1.DeleteOptions{}))
	s.merge(other, "somebody", `{"data":{"color":"green"}}`)
	s.run()
	s.isThere(k, func(o *unstructured.Unstructured) bool { return generationOf(o) == 1 })
	s.isThere(other, func(o *unstructured.Unstructured) bool { return field(o, "data", "color") == "red" })
}

// TestOwnershipIsTakenBack: who takes a field over with the same value may change it next; so it is the ledger's again.
func TestOwnershipIsTakenBack(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	s.merge(k, "somebody", `{"data":{"color":"green"}}`)
	s.isThere(k, func(o *unstructured.Unstructured) bool {
		ours := &unstructured.Unstructured{Object: selectOwned(o)}
		return field(o, "data", "color") == "red" && field(ours, "data", "color") == "red"
	})
	s.synced(k)
}

// TestReportedDriftStays, and the status says what and who.
func TestReportedDriftStays(t *testing.T) {
	s := newStage(t, drift(ledger.DriftReport))
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	s.merge(k, "somebody", `{"data":{"color":"green"}}`)
	in := s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool { return in.Drift != "" })
	if in.Drift != `data.color: wanted "red", found "green"` || in.DriftBy != "somebody" {
		t.Errorf("the drift is %q by %q", in.Drift, in.DriftBy)
	}
	if o := s.live(k); field(o, "data", "color") != "green" {
		t.Errorf("the object is %v", o.Object)
	}
	s.merge(k, "somebody", `{"data":{"color":"red"}}`)
	s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool { return strings.Contains(in.Drift, "owns it") })
	s.must(s.place(k).Delete(t.Context(), k.Name, metav1.DeleteOptions{}))
	s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool { return in.Drift == "was deleted" })
	// A new generation is applied whatever drift is reported.
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	s.synced(k)
}

// TestAdoptedDriftIsAChange of who made it, and states nothing that was not stated or edited.
func TestAdoptedDriftIsAChange(t *testing.T) {
	s := newStage(t, drift(ledger.DriftAdopt))
	s.run(func(c *Config) {
		c.Adopt = func(ctx context.Context, d ledger.Draft) error {
			_, err := s.Commit(ctx, d)
			return err
		}
	})
	k := s.edit(deploymentText).Key
	s.put(deploymentText)
	s.synced(k)
	s.merge(k, "kubectl-edit", `{"spec":{"replicas":2}}`)
	s.eventually(func() error {
		o, err := s.Object(t.Context(), k, 0)
		if err == nil && o.Generation != 2 {
			err = fmt.Errorf("generation %d", o.Generation)
		}
		return err
	})
	s.synced(k)
	o, err := s.Object(t.Context(), k, 0)
	s.must(err)
	if o.Author != "kubectl-edit" || o.Verb != ledger.Adopt {
		t.Errorf("the change is by %q, %s", o.Author, o.Verb)
	}
	want := s.edit(strings.ReplaceAll(strings.ReplaceAll(deploymentText, "replicas: 0", "replicas: 2"), `"0.5"`, "500m"))
	if string(want.Content) != string(strings.ReplaceAll(string(o.Content), `,"protocol":"TCP"`, "")) {
		t.Errorf("the content is\n%s\nwant\n%s", o.Content, want.Content)
	}
	live := s.live(k)
	marked(t, live, 2, 2, 2)
	if field(live, "spec", "replicas") != int64(2) {
		t.Errorf("the object is %v", live.Object)
	}
}

// TestPausedTargetIsLeftAlone: nothing is applied or corrected before the pause ends.
func TestPausedTargetIsLeftAlone(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	s.target(func(t *ledger.Target) { t.PausedUntil = time.Now().Add(time.Hour) })
	s.merge(k, "somebody", `{"data":{"color":"green"}}`)
	s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool { return in.Drift != "" })
	s.put(strings.ReplaceAll(configText, "large", "small"))
	if o := s.live(k); field(o, "data", "color") != "green" || generationOf(o) != 1 {
		t.Errorf("the object is %v", o.Object)
	}
	s.target()
	s.isThere(k, func(o *unstructured.Unstructured) bool {
		return field(o, "data", "color") == "red" && generationOf(o) == 2
	})
	s.synced(k)
}

// TestFightSlowsDown: another client that undoes each correction is named, and corrections are made less often.
func TestFightSlowsDown(t *testing.T) {
	s := newStage(t)
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if o := s.live(k); o != nil && field(o, "data", "color") == "red" {
				s.merge(k, "other-controller", `{"data":{"color":"green"}}`)
			}
			sleep(ctx, 5*time.Millisecond)
		}
	}()
	in := s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool {
		return strings.Contains(in.Drift, "other-controller undoes the ledger's writes again and again")
	})
	stop()
	<-ended
	if in.Due.IsZero() || time.Until(in.Due) < fightPause/2 {
		t.Errorf("it is due at %v", in.Due)
	}
	if n := s.counted("cardea_ledger_drift_total", "corrected"); n != fightRounds+1 {
		t.Errorf("%v corrections", n)
	}
}

// TestNothingIsDriftByItself: no write follows from defaults, over lists made again and again.
func TestNothingIsDriftByItself(t *testing.T) {
	s := newStage(t)
	stop := s.run()
	texts := []string{gatewayText, routeText, deploymentText, configText}
	s.put(texts...)
	versions := map[ledger.Key]string{}
	for _, text := range texts {
		k := s.edit(text).Key
		s.synced(k)
		if k.Kind != "Deployment" { // its controller writes, too
			versions[k] = s.live(k).GetResourceVersion()
		}
	}
	stop()
	for range 3 {
		stop := s.run(func(c *Config) { c.Resync = 50 * time.Millisecond })
		s.barrier(s.edit(deploymentText).Key)
		stop()
	}
	for k, version := range versions {
		if now := s.live(k).GetResourceVersion(); now != version {
			t.Errorf("%s was written", k)
		}
	}
}

// TestOlderVersionsOfAKind: an object that is stated in a version that the API server does not prefer is compared in
// that version.
func TestOlderVersionsOfAKind(t *testing.T) {
	s := newStage(t)
	s.run()
	text := strings.ReplaceAll(routeText, "gateway.networking.k8s.io/v1", "gateway.networking.k8s.io/v1beta1")
	k := s.edit(text).Key
	s.put(text)
	s.synced(k)
	version := s.live(k).GetResourceVersion()
	s.barrier(k)
	if n := s.counted("cardea_ledger_drift_total", ""); n != 1 {
		t.Errorf("%v times drift, want that of the barrier", n)
	}
	if version == s.live(k).GetResourceVersion() {
		t.Error("the barrier wrote nothing")
	}
}

// TestReportedDriftIsCorrectedWhenItMayBe: the target counts as it is now.
func TestReportedDriftIsCorrectedWhenItMayBe(t *testing.T) {
	s := newStage(t, drift(ledger.DriftReport))
	s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	s.merge(k, "somebody", `{"data":{"color":"green"}}`)
	s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool { return in.Drift != "" })
	s.target(drift(ledger.DriftCorrect))
	s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "data", "color") == "red" })
	s.synced(k)
}

// TestSecretsAreNotQuoted in what is told of drift and failures, or logged.
func TestSecretsAreNotQuoted(t *testing.T) {
	const secret = `
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: %s}
data: {word: aHVzaA==}
`
	s := newStage(t, drift(ledger.DriftReport))
	s.run()
	k := s.edit(secret).Key
	s.put(secret)
	s.synced(k)
	s.merge(k, "somebody", `{"data":{"word":"d2hpc3Blcg=="}}`)
	in := s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool { return in.Drift != "" })
	if in.Drift != "data.word differs" || in.DriftBy != "somebody" {
		t.Errorf("the drift is %q by %q", in.Drift, in.DriftBy)
	}
	s.put(strings.ReplaceAll(secret, "aHVzaA==", "{hush: 17}"))
	in = s.becomes(k, func(_ ledger.Status, in ledger.InCluster) bool { return in.Applied.Code != "" })
	if !in.Applied.Permanent {
		t.Errorf("the failure is %+v", in.Applied)
	}
	for _, word := range []string{"aHVzaA", "d2hpc3Blcg", "hush"} {
		if strings.Contains(in.Applied.Message+s.log.String(), word) {
			t.Errorf("%s is told: %s", word, in.Applied.Message)
		}
	}
}

// watched is a ledger of which the observations are counted.
type watched struct {
	ledger.Work
	observed atomic.Int64
}

func (w *watched) Observe(ctx context.Context, cluster string, list []ledger.Observation) error {
	w.observed.Add(int64(len(list)))
	return w.Work.Observe(ctx, cluster, list)
}

// TestStartTellsNothingAgain: a worker that starts tells the ledger only of what it does not know.
func TestStartTellsNothingAgain(t *testing.T) {
	s := newStage(t)
	stop := s.run()
	for i := range 10 {
		s.put(s.numbered(i))
	}
	for i := range 10 {
		s.synced(s.edit(s.numbered(i)).Key)
	}
	stop()
	w := &watched{Work: s.Store}
	s.run(func(c *Config) { c.Work = w })
	s.barrier(s.edit(s.numbered(3)).Key)
	if n := w.observed.Load(); n > 3 {
		t.Errorf("%d observations, want those of the barrier", n)
	}
}

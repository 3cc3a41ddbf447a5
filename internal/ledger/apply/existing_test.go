package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/ledger"
)

var theirs = strings.ReplaceAll(configText, "red", "theirs")

// TestExistingIsRefused by default, and the message names who wrote it. It is applied once it may be.
func TestExistingIsRefused(t *testing.T) {
	s := newStage(t)
	s.run()
	k, before := s.create("kubectl-create", theirs)
	s.put(configText)
	f := s.fails(k, codeExists)
	if !f.Permanent || !strings.Contains(f.Message, "kubectl-create") || f.Generation != 0 {
		t.Errorf("the failure is %+v", f)
	}
	if now := s.live(k); now.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("it was written: %v", now.Object)
	}
	s.target(existing(ledger.ExistingAdopt))
	s.synced(k)
	if now := s.live(k); now.GetUID() != before.GetUID() || field(now, "data", "color") != "red" {
		t.Errorf("it is %v", now.Object)
	}
}

// TestOthersObjectsAreNotAdopted: what bears the mark of Helm, Argo CD or Flux stays, unless it may be overwritten.
func TestOthersObjectsAreNotAdopted(t *testing.T) {
	for name, mark := range map[string]string{
		"Helm release shop":          "annotations: {meta.helm.sh/release-name: shop}",
		"Argo CD shop":               "annotations: {argocd.argoproj.io/tracking-id: shop}",
		"Flux Kustomization shop":    "labels: {kustomize.toolkit.fluxcd.io/name: shop}",
		"the manager terraform":      "labels: {app.kubernetes.io/managed-by: terraform}",
		"a ledger, as its object 17": "annotations: {ledger.cardea.dev/object: '17'}",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, existing(ledger.ExistingAdopt))
			s.run()
			k, before := s.create("somebody", strings.ReplaceAll(theirs, "labels: {app: shop}", mark))
			s.put(configText)
			if f := s.fails(k, codeExists); !strings.Contains(f.Message, name) {
				t.Errorf("the failure is %+v", f)
			}
			if s.live(k).GetResourceVersion() != before.GetResourceVersion() {
				t.Error("it was written")
			}
			s.target(existing(ledger.ExistingOverwrite))
			s.synced(k)
			s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "data", "color") == "red" })
		})
	}
}

// TestAdoptedGatewayIsExact: listeners that an adopted Gateway had beyond those that are stated go.
func TestAdoptedGatewayIsExact(t *testing.T) {
	s := newStage(t, existing(ledger.ExistingAdopt))
	s.run()
	k, before := s.create("kubectl-create", strings.ReplaceAll(gatewayText, "name: extra", "name: theirs"))
	s.put(gatewayText)
	s.synced(k)
	if now := s.live(k); listeners(now) != "http extra " || now.GetUID() != before.GetUID() {
		t.Errorf("it is %v", now.Object)
	}
}

// TestDeletionLeavesOthersObjects: an object that was never the ledger's is not deleted with it.
func TestDeletionLeavesOthersObjects(t *testing.T) {
	s := newStage(t)
	s.run()
	k, before := s.create("somebody", theirs)
	s.put(configText)
	s.fails(k, codeExists)
	s.delete(k)
	s.forgotten(k)
	if now := s.live(k); now == nil || now.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("it was deleted or written")
	}
}

// TestReplacedByOthers: an object that was deleted and made again by another client is not the ledger's any more.
func TestReplacedByOthers(t *testing.T) {
	s := newStage(t)
	stop := s.run()
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	stop()
	s.must(s.place(k).Delete(t.Context(), k.Name, deleteNow))
	_, made := s.create("somebody", theirs)
	s.run()
	f := s.fails(k, codeExists)
	if !strings.Contains(f.Message, "somebody") || f.Generation != 1 {
		t.Errorf("the failure is %+v", f)
	}
	s.delete(k)
	s.forgotten(k)
	if now := s.live(k); now == nil || now.GetUID() != made.GetUID() {
		t.Error("it was deleted")
	}
}

package proxies

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// maxOwnVersions is how many versions of an object are known as Cardea's own: the watch may be behind what was written.
const maxOwnVersions = 32

// beginWrite notes that an object is being written: what the watch reports until then may be that.
func (f Files) beginWrite(gateway model.ObjectRef, k kind) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.ensureRecord(gateway).objects[k].writing = true
}

// recordWritten notes what an object is; nil: it is missing, or not known.
func (f Files) recordWritten(gateway model.ObjectRef, k kind, text digest, object metav1.Object) {
	f.d.mu.Lock()
	m := &f.d.ensureRecord(gateway).objects[k]
	if m.writing, m.textDigest, m.version = false, text, ""; object != nil {
		m.version = object.GetResourceVersion()
		m.ownVersions = append(m.ownVersions[max(0, len(m.ownVersions)+1-maxOwnVersions):], m.version)
	}
	other := m.dirty && !slices.Contains(m.ownVersions, m.seen)
	m.dirty = false
	f.d.mu.Unlock()
	if other && object != nil {
		f.d.cfg.FilesChanged(gateway)
	}
}

// hasFiles tells whether an object is as it should be already.
func (f Files) hasFiles(o fileObject) bool {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	m := f.d.ensureRecord(o.gateway).objects[o.kind]
	return m.version != "" && m.textDigest == o.digestFiles()
}

// observeFiles takes what the watch reports of an object with files. It tells whether another client changed it, and
// when to look at it.
func (m *appliedObject) observeFiles(
	object metav1.Object, deleted bool, now time.Time,
) (wait time.Duration, others bool) {
	if m.seen = ""; !deleted {
		m.seen = object.GetResourceVersion()
	}
	switch {
	case m.writing:
		m.dirty = true
		return 0, false
	case m.version == "" || slices.Contains(m.ownVersions, m.seen): // it was not read yet, or this is what was written
		return 0, false
	}
	wait = m.repairDelay(now)
	m.countRepair(now)
	return wait, true
}

// keepFiles has the objects with files mended if they lack a label, such as one that the Gateway has now. If the
// proxies of the Gateway read no files, the objects are deleted when its Deployment has rolled out.
func (d *Deployer) keepFiles(
	ctx context.Context, ref model.ObjectRef, p plan.ProxySpec, want renderedObjects, o *outcome,
) {
	for _, k := range []kind{fileMap, fileSecret} {
		object := d.findObject(k, ref.Namespace(), k.objectName(p))
		switch {
		case object == nil || !isOurs(object, p):
		case p.DataPlane.ReadsFiles:
			if f := (fileObject{kind: k, gateway: ref, proxy: p}); !f.hasMetadata(object) {
				d.cfg.FilesChanged(ref)
			}
		case d.rolledOut(ref, p, want):
			if err := d.deleteObject(ctx, ref, k, k.objectName(p), object.GetUID()); err != nil {
				o.failed = append(o.failed, fmt.Errorf("delete %s %s: %w", k, k.objectName(p), err))
			}
		}
	}
}

// rolledOut tells whether all pods of a Gateway are those of the Deployment as it was applied last.
func (d *Deployer) rolledOut(ref model.ObjectRef, p plan.ProxySpec, want renderedObjects) bool {
	is := d.deploymentOf(ref, p)
	d.mu.Lock()
	m := d.ensureRecord(ref).objects[deployment]
	d.mu.Unlock()
	_, rendered := want.texts[deployment]
	return rendered && is != nil && m.textDigest == want.digestOf(deployment) && m.seen == m.fingerprint && !m.dirty &&
		isComplete(is)
}

// isComplete tells whether a rollout is over: all pods are those that the Deployment asks for, but for some that drain.
func isComplete(is *appsv1.Deployment) bool {
	replicas := int32(1)
	if is.Spec.Replicas != nil {
		replicas = *is.Spec.Replicas
	}
	s := is.Status
	return s.ObservedGeneration == is.Generation && s.UpdatedReplicas == replicas && s.Replicas == replicas &&
		s.AvailableReplicas == replicas
}

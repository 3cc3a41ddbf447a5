package proxies

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// record is what is remembered of a Gateway or an XBackend: the objects that were applied, and what was reported. If it
// is lost, everything is applied once more, which changes nothing.
type record struct {
	uid     string
	removed bool         // all objects are deleted, and the Gateway's finalizer is removed
	front   *model.Front // nil: not computed yet
	notes   []note       // of the front
	// accepted is the plan at the time when the Gateway was accepted last; nil if it never was.
	accepted *plan.ProxySpec
	// good is the plan with the DataPlanes that were applied last as a whole; nil if not known.
	good    *plan.ProxySpec
	objects [kindsEnd]appliedObject
	// service is the name of the Service of an XBackend; "" if not known.
	service string
}

// digest is a hash of a text.
type digest [sha256.Size]byte

// appliedObject is an object that was applied.
type appliedObject struct {
	textDigest digest // of what was applied
	// refused is the text that the API server called invalid; the fields below are the object's state then, the reason and
	// the time. When the object changes, the API server is asked again.
	refused     digest
	refusedSeen string
	refusedWhy  string
	refusedAt   time.Time
	fingerprint string // of the object after the apply; "" if it was never seen to exist
	version     string // its resource version after the apply
	seen        string // of the object as the watch showed it last; "" if it is deleted or being deleted
	events      uint64 // number of the watch's events about it
	dirty       bool   // another client changed it
	// For an object with files: whether it is being written, and the versions that were read or written.
	writing     bool
	ownVersions []string
	// The number of repairs shortly one after the other, and the time of the last one.
	repairs  int
	repaired time.Time
}

// A client that undoes every repair is not repaired at once each time: the pauses between repairs grow.
const (
	freeRepairs  = 2           // repairs without a pause
	firstPause   = time.Second // before the next repair; doubled before each further one
	longestPause = 5 * time.Minute
	quietPeriod  = 15 * time.Minute // without a repair; after it, repairs are counted from zero
	contestedAt  = 5                // repairs after which an object counts as contested
)

// refusalWait is for how long the API server is not asked again about a text that it called invalid. It is 0, ask now,
// if that was long ago, or if the object has changed since.
func (m *appliedObject) refusalWait(text digest, now time.Time) time.Duration {
	if m.refused != text || m.refusedSeen != m.seen {
		return 0
	}
	return max(0, m.refusedAt.Add(invalidRetryInterval).Sub(now))
}

// repairDelay is how long the next repair has to wait.
func (m *appliedObject) repairDelay(now time.Time) time.Duration {
	if m.repairs < freeRepairs || now.Sub(m.repaired) > quietPeriod {
		return 0
	}
	wait := min(longestPause, firstPause<<min(m.repairs-freeRepairs, 20))
	return max(0, m.repaired.Add(wait).Sub(now))
}

// countRepair counts a repair, and reports whether the object counts as contested from now on.
func (m *appliedObject) countRepair(now time.Time) (contested bool) {
	if now.Sub(m.repaired) > quietPeriod {
		m.repairs = 0
	}
	m.repairs++
	m.repaired = now
	return m.repairs == contestedAt
}

func (m *appliedObject) isContested(now time.Time) bool {
	return m.repairs >= contestedAt && now.Sub(m.repaired) <= quietPeriod
}

// ensureRecord returns the record of a Gateway or a class. mu is held.
func (d *Deployer) ensureRecord(ref model.ObjectRef) *record {
	r := d.records[ref]
	if r == nil {
		r = &record{}
		d.records[ref] = r
	}
	return r
}

// fingerprint changes if the desired state of an object changes. It does not change if only its status is written.
func fingerprint(o metav1.Object) string {
	if o == nil || o.GetDeletionTimestamp() != nil {
		return ""
	}
	var spec any = o.GetGeneration() // grows with each change of the spec, for kinds that have it
	switch s := o.(type) {
	case *corev1.Service:
		spec = s.Spec
	default:
		if o.GetGeneration() == 0 {
			return string(o.GetUID()) + " " + o.GetResourceVersion()
		}
	}
	text, err := json.Marshal([]any{o.GetUID(), spec, o.GetLabels(), o.GetAnnotations(), o.GetOwnerReferences()})
	if err != nil {
		panic(fmt.Sprintf("deploy: %T: %v", o, err))
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// ownerOf is the Gateway or XBackend that an object belongs to, from the records, or else from the object's metadata.
func (d *Deployer) ownerOf(o metav1.Object) (model.ObjectRef, bool) {
	d.mu.Lock()
	ref, found := d.ownersByName[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}]
	d.mu.Unlock()
	if found {
		return ref, true
	}
	if ref, found = d.finders.backendOf(o); found {
		return ref, true
	}
	return gatewayOf(o)
}

// findProxy is the plan for a Gateway. A Gateway with another UID is another object, and nothing is known about it.
func (d *Deployer) findProxy(ref model.ObjectRef) (plan.ProxySpec, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, found := d.proxies[ref]
	if found {
		d.recordOf(ref, p.UID)
	}
	return p, found
}

// recordOf is the record of an object with that UID, an empty one if the UID has changed. mu is held.
func (d *Deployer) recordOf(ref model.ObjectRef, uid string) *record {
	r := d.ensureRecord(ref)
	switch r.uid {
	case uid:
	case "": // recorded before the plan knew the object
		r.uid = uid
	default:
		*r = record{uid: uid, front: r.front, notes: r.notes, service: r.service}
	}
	return r
}

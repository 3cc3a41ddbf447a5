package deploy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/plan"
)

// record is what is remembered of a Gateway or an XBackend: what was made for it, and what was said about it. It can be
// lost: then everything is applied once more, which changes nothing.
type record struct {
	uid     string
	removed bool         // all is taken away, and the Gateway has the finalizer no more
	front   *model.Front // nil: not looked at yet
	notes   []note       // that the front has
	// accepted is what the plan said when the Gateway was accepted last; nil if it never was.
	accepted *plan.Proxy
	trouble  string // the last error
	// good are the DataPlanes that were applied last, all of each; nil if nobody remembers.
	good    *[]plan.DataPlane
	objects [kindsEnd]made
	// service is the name of the Service that was made for an XBackend; "" if nobody remembers.
	service string
}

// digest tells texts apart.
type digest [sha256.Size]byte

// made is an object that was made.
type made struct {
	text digest // of what was applied
	// refused is the text that the API server called invalid, what was seen of the object then, why, and when. When the
	// object is another one, the API server is asked again.
	refused     digest
	refusedSeen string
	why         string
	refusedAt   time.Time
	print       string // of the object as it was then; "" if it was never seen to exist
	version     string // its resource version then
	seen        string // of the object as the watch showed it last; "" if it is gone or going
	events      uint64 // how often the watch told of it
	dirty       bool   // somebody else changed it
	// Repairs that were made one soon after the other, and the last one's time.
	repairs  int
	repaired time.Time
}

// Somebody who undoes every repair is not outdone by speed.
const (
	freeRepairs  = 2           // that come at once
	firstPause   = time.Second // before the next, and double that before each one after it
	longestPause = 5 * time.Minute
	peace        = 15 * time.Minute // without a repair; then repairs are counted anew
	contestedAt  = 5                // repairs from which on somebody is said to fight
)

// refusal is for how long the API server is not asked again about a text that it called invalid; 0: it is asked, since
// that was long ago, or since the object is another one now.
func (m *made) refusal(text digest, now time.Time) time.Duration {
	if m.refused != text || m.refusedSeen != m.seen {
		return 0
	}
	return max(0, m.refusedAt.Add(mistakeRetry).Sub(now))
}

// pause is how long a repair has to wait at a time.
func (m *made) pause(now time.Time) time.Duration {
	if m.repairs < freeRepairs || now.Sub(m.repaired) > peace {
		return 0
	}
	wait := min(longestPause, firstPause<<min(m.repairs-freeRepairs, 20))
	return max(0, m.repaired.Add(wait).Sub(now))
}

// repair counts a repair, and tells whether somebody fights from now on.
func (m *made) repair(now time.Time) (fight bool) {
	if now.Sub(m.repaired) > peace {
		m.repairs = 0
	}
	m.repairs++
	m.repaired = now
	return m.repairs == contestedAt
}

func (m *made) contested(now time.Time) bool {
	return m.repairs >= contestedAt && now.Sub(m.repaired) <= peace
}

// record is that of a Gateway or a class. mu is held.
func (d *Deployer) record(ref model.ObjectRef) *record {
	r := d.records[ref]
	if r == nil {
		r = &record{}
		d.records[ref] = r
	}
	return r
}

// fingerprint tells whether somebody changed what an object is to be. Writes of its status do not change it.
func fingerprint(o metav1.Object) string {
	if o == nil || o.GetDeletionTimestamp() != nil {
		return ""
	}
	var spec any = o.GetGeneration() // grows with the spec, where there is one
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

// madeFor is the Gateway or XBackend that an object was made for, by what is known of it or else by its own word.
func (d *Deployer) madeFor(o metav1.Object) (model.ObjectRef, bool) {
	d.mu.Lock()
	ref, found := d.named[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}]
	d.mu.Unlock()
	if found {
		return ref, true
	}
	if ref, found = xbackendOf(o); found {
		return ref, true
	}
	return gatewayOf(o)
}

// planned is what the plan says about a Gateway. A Gateway of another UID is another one, of which nothing is known.
func (d *Deployer) planned(ref model.ObjectRef) (plan.Proxy, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p, found := d.proxies[ref]
	if found {
		d.recordOf(ref, p.UID)
	}
	return p, found
}

// recordOf is the record of an object of that UID, an empty one if it is of another. mu is held.
func (d *Deployer) recordOf(ref model.ObjectRef, uid string) *record {
	r := d.record(ref)
	switch r.uid {
	case uid:
	case "": // what was seen of it came before the plan
		r.uid = uid
	default:
		*r = record{uid: uid, front: r.front, notes: r.notes, service: r.service}
	}
	return r
}

package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"cardea.dev/cardea/internal/core/ledger"
)

// objectKey is where an object is in the cluster.
type objectKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// kindScope is a kind in a namespace.
type kindScope struct {
	kind      schema.GroupKind
	namespace string // "": all of them, or the kind has none
}

func (p objectKey) scopeOf() kindScope { return kindScope{p.kind, p.namespace} }

func objectKeyOf(k ledger.Key) objectKey { return objectKey{groupKind(k), k.Namespace, k.Name} }

// snapshot is an object as the watch saw it.
type snapshot struct {
	uid, version   string // version: resourceVersion
	id             string // of the ledger's object, by its annotation
	generation     int64  // by its annotation; 0: none
	sum            string // "": the ledger wrote it in another version of its kind than the one that is watched
	gone, deleting bool
	answers        string // what its status says of its newest spec (answersOf)
	whole          string // hash of all but the status, if it differs from what was applied
}

// trackedObject is what is known of one object that was applied.
type trackedObject struct {
	key            ledger.Key
	id             string
	applied        ledger.Applied
	writtenVersion string    // resourceVersion that the API server answered to our last write; "": not known
	activeClaims   int       // claims of it that are being done
	lastSeen       *snapshot // nil: not yet
	reported       reportedState
	corrections    correctionHistory
}

// reportedState is what the ledger knows of what is seen.
type reportedState struct {
	uid, sum, whole string
	answers         string
	generation      int64
	drift, by       string
	gone            bool
}

// verdict is what is to be done about an item.
type verdict int

// The verdicts.
const (
	unseen     verdict = iota // not seen yet, or being written, or the watch is behind
	settled                   // as applied, and the ledger knows
	fresh                     // as applied, and the ledger does not know yet
	suspicious                // not as it was applied, as far as this process knows
)

// judgeSnapshot compares what was seen with what was applied.
func (i *trackedObject) judgeSnapshot() verdict {
	s := i.lastSeen
	switch {
	case i.activeClaims > 0 || s == nil || i.isBehind() || s.deleting:
		return unseen
	case i.inSync(s) && i.reported == i.reportedStateOf(s):
		return settled
	case i.inSync(s):
		return fresh
	case i.reported.drift != "" && i.reported.sum == s.sum && i.reported.uid == s.uid && i.reported.gone == s.gone &&
		i.reported.whole == s.whole && (s.gone || s.sum != ""):
		return settled // and it is what was told
	}
	return suspicious
}

func (i *trackedObject) inSync(s *snapshot) bool {
	return !s.gone && s.uid == i.applied.UID && s.sum == i.applied.Result && s.sum != ""
}

func (i *trackedObject) reportedStateOf(s *snapshot) reportedState {
	return reportedState{uid: s.uid, sum: s.sum, generation: s.generation, answers: s.answers}
}

// isBehind tells whether the watch has not come to our own last write.
func (i *trackedObject) isBehind() bool {
	if i.writtenVersion == "" || i.lastSeen.version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(i.lastSeen.version, i.writtenVersion)
	return err == nil && order < 0
}

// index has all objects that the ledger applied to the cluster.
type index struct {
	mu    sync.Mutex
	items map[objectKey]*trackedObject
	kinds map[kindScope]int // how many items a kind has in each namespace
	// namespacedOnly are the kinds that may be listed by namespace only.
	namespacedOnly map[schema.GroupKind]bool
	unwatchable    map[kindScope]bool // can't be listed or watched for now
	// suspects are to be looked at, at the earliest at a time.
	suspects   map[objectKey]time.Time
	strays     map[objectKey]snapshot // have the ledger's mark, but are not known here
	unreported map[objectKey]bool
	ready      bool // the ledger was asked what there is
}

func newIndex() *index {
	return &index{items: map[objectKey]*trackedObject{}, kinds: map[kindScope]int{},
		namespacedOnly: map[schema.GroupKind]bool{},
		unwatchable:    map[kindScope]bool{}, suspects: map[objectKey]time.Time{},
		strays: map[objectKey]snapshot{}, unreported: map[objectKey]bool{}}
}

// findOrAdd adds or finds an item. The caller has the lock.
func (x *index) findOrAdd(k ledger.Key, id string) *trackedObject {
	p := objectKeyOf(k)
	i := x.items[p]
	if i == nil {
		i = &trackedObject{key: k, id: id}
		x.items[p] = i
		x.kinds[p.scopeOf()]++
	}
	i.key, i.id = k, id
	return i
}

// dropItem forgets an item. The caller has the lock.
func (x *index) dropItem(p objectKey) {
	if x.items[p] == nil {
		return
	}
	delete(x.items, p)
	delete(x.unreported, p)
	if x.kinds[p.scopeOf()]--; x.kinds[p.scopeOf()] == 0 {
		delete(x.kinds, p.scopeOf())
	}
}

// reviewObject judges an item and notes what is to be done. The caller has the lock.
func (x *index) reviewObject(p objectKey) {
	i := x.items[p]
	if i == nil {
		return
	}
	switch i.judgeSnapshot() {
	case fresh:
		if i.reported.drift != "" {
			i.reported = reportedState{} // the same drift again is another one
		}
		x.unreported[p] = true
		delete(x.suspects, p)
	case suspicious:
		x.addSuspect(p, time.Time{})
	case settled:
		delete(x.suspects, p)
	case unseen:
	}
}

// addSuspect has a place looked at, not before a time. The caller has the lock.
func (x *index) addSuspect(p objectKey, at time.Time) {
	if before, there := x.suspects[p]; !there || at.Before(before) {
		x.suspects[p] = at
	}
}

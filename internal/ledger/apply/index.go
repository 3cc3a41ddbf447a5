package apply

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"cardea.dev/cardea/internal/core/ledger"
)

// place is where an object is in the cluster.
type place struct {
	kind            schema.GroupKind
	namespace, name string
}

// scope is a kind in a namespace.
type scope struct {
	kind      schema.GroupKind
	namespace string // "": all of them, or the kind has none
}

func (p place) scope() scope { return scope{p.kind, p.namespace} }

func placeOf(k ledger.Key) place { return place{groupKind(k), k.Namespace, k.Name} }

// sight is an object as the watch saw it.
type sight struct {
	uid, version string // version: resourceVersion
	id           string // of the ledger's object, by its annotation
	generation   int64  // by its annotation; 0: none
	sum          string // "": the ledger wrote it in another version of its kind than the one that is watched
	gone, ending bool
	answers      string // what its status says of its newest spec (answersOf)
	whole        string // hash of all but the status, if it is not as it was applied
}

// item is what is known of one object that was applied.
type item struct {
	key     ledger.Key
	id      string
	applied ledger.Applied
	version string // resourceVersion that the API server answered to our last write; "": not known
	holds   int    // claims of it that are being done
	seen    *sight // nil: not yet
	told    told
	fight   fight
}

// told is what the ledger knows of what is seen.
type told struct {
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

// judge compares what was seen with what was applied.
func (i *item) judge() verdict {
	s := i.seen
	switch {
	case i.holds > 0 || s == nil || i.behind() || s.ending:
		return unseen
	case i.inSync(s) && i.told == i.toldOf(s):
		return settled
	case i.inSync(s):
		return fresh
	case i.told.drift != "" && i.told.sum == s.sum && i.told.uid == s.uid && i.told.gone == s.gone &&
		i.told.whole == s.whole && (s.gone || s.sum != ""):
		return settled // and it is what was told
	}
	return suspicious
}

func (i *item) inSync(s *sight) bool {
	return !s.gone && s.uid == i.applied.UID && s.sum == i.applied.Result && s.sum != ""
}

func (i *item) toldOf(s *sight) told {
	return told{uid: s.uid, sum: s.sum, generation: s.generation, answers: s.answers}
}

// behind tells whether the watch has not come to our own last write.
func (i *item) behind() bool {
	if i.version == "" || i.seen.version == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(i.seen.version, i.version)
	return err == nil && order < 0
}

// index has all objects that the ledger applied to the cluster.
type index struct {
	mu    sync.Mutex
	items map[place]*item
	kinds map[scope]int // how many items a kind has in each namespace
	// narrow are the kinds that may be listed by namespace only.
	narrow map[schema.GroupKind]bool
	unread map[scope]bool // can't be listed or watched for now
	// suspects are to be looked at, at the earliest at a time.
	suspects map[place]time.Time
	strays   map[place]sight // have the ledger's mark, but are not known here
	news     map[place]bool
	ready    bool // the ledger was asked what there is
}

func newIndex() *index {
	return &index{items: map[place]*item{}, kinds: map[scope]int{}, narrow: map[schema.GroupKind]bool{},
		unread: map[scope]bool{}, suspects: map[place]time.Time{},
		strays: map[place]sight{}, news: map[place]bool{}}
}

// put adds or finds an item. The caller has the lock.
func (x *index) put(k ledger.Key, id string) *item {
	p := placeOf(k)
	i := x.items[p]
	if i == nil {
		i = &item{key: k, id: id}
		x.items[p] = i
		x.kinds[p.scope()]++
	}
	i.key, i.id = k, id
	return i
}

// drop forgets an item. The caller has the lock.
func (x *index) drop(p place) {
	if x.items[p] == nil {
		return
	}
	delete(x.items, p)
	delete(x.news, p)
	if x.kinds[p.scope()]--; x.kinds[p.scope()] == 0 {
		delete(x.kinds, p.scope())
	}
}

// look judges an item and notes what is to be done. The caller has the lock.
func (x *index) look(p place) {
	i := x.items[p]
	if i == nil {
		return
	}
	switch i.judge() {
	case fresh:
		if i.told.drift != "" {
			i.told = told{} // the same drift again is another one
		}
		x.news[p] = true
		delete(x.suspects, p)
	case suspicious:
		x.suspect(p, time.Time{})
	case settled:
		delete(x.suspects, p)
	case unseen:
	}
}

// suspect has a place looked at, not before a time. The caller has the lock.
func (x *index) suspect(p place, at time.Time) {
	if before, there := x.suspects[p]; !there || at.Before(before) {
		x.suspects[p] = at
	}
}

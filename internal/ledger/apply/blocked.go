package apply

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/ledger"
)

// block is why an object is not as it should be.
type block struct {
	code    string
	why     why
	version string // of its kind, as its content states it; "": not known, or it is to be deleted
	deleted bool
	at      time.Time // when it failed; zero: at some time, or for good
}

// blocked are the objects with a last claim that failed, as far as this process knows.
type blocked struct {
	mu   sync.Mutex
	keys map[ledger.Key]block
}

func (b *blocked) set(k ledger.Key, to block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys[k] = to
}

func (b *blocked) get(k ledger.Key) block {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.keys[k]
}

func (b *blocked) clear(k ledger.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, k)
}

// recently tells whether something failed a short time ago, and not for good.
func (b *blocked) recently() bool {
	return len(b.pick(func(_ ledger.Key, is block) bool { return time.Since(is.at) < hurriedFor })) > 0
}

// keep forgets all but some: those that the ledger says have failed.
func (b *blocked) keep(failed map[ledger.Key]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, is := range b.keys {
		if !failed[k] && time.Since(is.at) > hurriedFor {
			delete(b.keys, k)
		}
	}
}

// pick lists the objects that a function takes.
func (b *blocked) pick(takes func(ledger.Key, block) bool) (keys []ledger.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, is := range b.keys {
		if takes(k, is) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (b *blocked) by(w why) []ledger.Key {
	return b.pick(func(_ ledger.Key, is block) bool { return is.why == w })
}

func (b *blocked) inNamespace(name string) []ledger.Key {
	return b.pick(func(k ledger.Key, is block) bool { return is.why == space && k.Namespace == name })
}

// whyOf is what a failure that an earlier process had waits for.
func whyOf(code, message string) why {
	switch code {
	case string(metav1.StatusReasonForbidden):
		return whyForbidden(message)
	case codeUnknownKind:
		return schema_
	case codeUnreachable, codeTimeout, string(metav1.StatusReasonServiceUnavailable),
		string(metav1.StatusReasonServerTimeout):
		return contact
	case ledger.Waiting:
		return deletion
	}
	for reason, because := range permanentReasons {
		if string(reason) == code {
			return because
		}
	}
	return time_
}

func groupKind(k ledger.Key) schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// note is set for an object that this process knows nothing about yet.
func (b *blocked) note(k ledger.Key, to block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.keys[k]; !there {
		b.keys[k] = to
	}
}

package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/ledger"
)

// block is why an object is not as it should be.
type block struct {
	code    string
	why     why
	deleted bool // it is to be deleted
	// asked: access was asked for and denied, so that it is worth asking again.
	asked bool
}

// blocked are the objects whose last claim failed, as far as this process knows.
type blocked struct {
	mu   sync.Mutex
	keys map[ledger.Key]block
}

func (b *blocked) set(k ledger.Key, to block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys[k] = to
}

func (b *blocked) clear(k ledger.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, k)
}

func (b *blocked) any() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.keys) > 0
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

// ofKinds lists those that wait for another schema, of the groups that have changed.
func (b *blocked) ofGroups(changed func(group string) bool) []ledger.Key {
	return b.pick(func(k ledger.Key, is block) bool { return is.why == schema_ && changed(k.Group) })
}

// whyOf is what a failure that an earlier process had waits for.
func whyOf(code string) why {
	switch code {
	case codeUnknownKind:
		return schema_
	case codeUnreachable, codeTimeout, "ServiceUnavailable":
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

// note is set for one of which this process knows nothing yet.
func (b *blocked) note(k ledger.Key, to block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.keys[k]; !there {
		b.keys[k] = to
	}
}

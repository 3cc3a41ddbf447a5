package apply

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/ledger"
)

// blockReason is why an object is not as it should be.
type blockReason struct {
	code     string
	retryOn  retryCondition
	version  string // of its kind, as its content states it; "": not known, or it is to be deleted
	deleted  bool
	failedAt time.Time // when it failed; zero: at some time, or for good
}

// blockedObjects are the objects with a last claim that failed, as far as this process knows.
type blockedObjects struct {
	mu   sync.Mutex
	keys map[ledger.Key]blockReason
}

func (b *blockedObjects) set(k ledger.Key, to blockReason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.keys[k] = to
}

func (b *blockedObjects) get(k ledger.Key) blockReason {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.keys[k]
}

func (b *blockedObjects) clear(k ledger.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.keys, k)
}

// failedRecently tells whether something failed a short time ago, and not for good.
func (b *blockedObjects) failedRecently() bool {
	return len(b.filterKeys(func(_ ledger.Key, is blockReason) bool { return time.Since(is.failedAt) < fastPollFor })) > 0
}

// keepOnly forgets all but some: those that the ledger says have failed.
func (b *blockedObjects) keepOnly(failed map[ledger.Key]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, is := range b.keys {
		if !failed[k] && time.Since(is.failedAt) > fastPollFor {
			delete(b.keys, k)
		}
	}
}

// filterKeys lists the objects that a function takes.
func (b *blockedObjects) filterKeys(takes func(ledger.Key, blockReason) bool) (keys []ledger.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, is := range b.keys {
		if takes(k, is) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (b *blockedObjects) keysWaitingFor(w retryCondition) []ledger.Key {
	return b.filterKeys(func(_ ledger.Key, is blockReason) bool { return is.retryOn == w })
}

func (b *blockedObjects) inNamespace(name string) []ledger.Key {
	return b.filterKeys(func(k ledger.Key, is blockReason) bool {
		return is.retryOn == retryOnNamespace &&
			k.Namespace == name
	})
}

// retryConditionOf is what a failure that an earlier process had waits for.
func retryConditionOf(code, message string) retryCondition {
	switch code {
	case string(metav1.StatusReasonForbidden):
		return retryConditionOfForbidden(message)
	case codeUnknownKind:
		return retryOnSchema
	case codeUnreachable, codeTimeout, string(metav1.StatusReasonServiceUnavailable),
		string(metav1.StatusReasonServerTimeout):
		return retryOnContact
	case ledger.Waiting:
		return retryOnDeletion
	}
	for reason, because := range permanentReasons {
		if string(reason) == code {
			return because
		}
	}
	return retryAfterDelay
}

func groupKind(k ledger.Key) schema.GroupKind { return schema.GroupKind{Group: k.Group, Kind: k.Kind} }

// setIfUnknown is set for an object that this process knows nothing about yet.
func (b *blockedObjects) setIfUnknown(k ledger.Key, to blockReason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.keys[k]; !there {
		b.keys[k] = to
	}
}

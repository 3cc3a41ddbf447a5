package feed

import (
	"cardea.dev/cardea/internal/ledger"
	"cardea.dev/cardea/internal/memory"
)

// digestOf is the digest of a content. Of Secrets nothing is remembered, not even a digest, by which one could try to
// guess them.
func digestOf(k ledger.Key, c ledger.Content) memory.Digest {
	if k.IsSecret() {
		return memory.Digest{}
	}
	return memory.Of(c)
}

// remember keeps for the next start which of a snapshot's contents were valid, and what they are. What changes later is
// checked again at the next start: it is little.
func (f *Feed) remember(list []*arrived) {
	good := make([]memory.Entry, 0, len(list))
	for _, a := range list {
		if a.read != nil && a.digest != (memory.Digest{}) {
			good = append(good, memory.Entry{Digest: a.digest, Object: a.read})
		}
	}
	if err := f.Memory.Keep(good); err != nil {
		f.Log.Warn("what was validated will be validated again", "error", err)
	}
}

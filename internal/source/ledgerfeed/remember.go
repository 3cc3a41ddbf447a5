package ledgerfeed

import (
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/source/validcache"
)

// digestOf is the digest of a content. Nothing of Secrets is remembered, not even a digest, by which one could try to
// guess them.
func digestOf(k ledger.Key, c ledger.Content) validcache.Digest {
	if k.IsSecret() {
		return validcache.Digest{}
	}
	return validcache.Of(c)
}

// remember keeps for the next start which of a snapshot's contents were valid, and what they are. Contents that change
// later are checked again at the next start: they are few.
func (f *Feed) remember(list []*arrived) {
	good := make([]validcache.Entry, 0, len(list))
	for _, a := range list {
		if a.read != nil && a.digest != (validcache.Digest{}) {
			good = append(good, validcache.Entry{Digest: a.digest, Object: a.read})
		}
	}
	if err := f.Memory.Keep(good); err != nil {
		f.Log.Warn("what was validated will be validated again", "error", err)
	}
}

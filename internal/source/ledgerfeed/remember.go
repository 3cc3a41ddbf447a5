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
	return validcache.DigestOf(c)
}

// saveCache keeps for the next start which of a snapshot's contents were valid, and what they are. Contents that change
// later are checked again at the next start: they are few.
func (f *Feed) saveCache(list []*checkedObject) {
	good := make([]validcache.Entry, 0, len(list))
	for _, a := range list {
		if a.valid != nil && a.digest != (validcache.Digest{}) {
			good = append(good, validcache.Entry{Digest: a.digest, Object: a.valid})
		}
	}
	if err := f.Cache.SaveEntries(good); err != nil {
		f.Log.Warn("the cache of valid objects can't be written; they will be validated again", "error", err)
	}
}

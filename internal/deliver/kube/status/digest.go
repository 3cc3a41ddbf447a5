package status

import (
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// digest stands for what of a status is ours. The sums do not depend on the order of conditions and entries, which is
// not ours.
type digest struct {
	facts       uint64   // which entries there are; the status and reason of all conditions but Programmed
	programmed  uint64   // the status and reason of Programmed
	fields      uint64   // observed generations, addresses, kinds, features
	texts       uint64   // messages and counts
	pending     []uint64 // where Programmed waits for the proxies: of a status that is well, none
	generation  int64    // the newest that was observed
	uid         uint64   // of the object that it is of, hashed; 0: not known
	hasErrors   bool     // a condition says that something is wrong, other than that the proxies are waited for
	tentative   bool     // wanted: what stands is likely to be truer, for some time
	hasOurs     bool     // seen: it has entries of ours beside others'; wanted: there is something to say
	isUnwritten bool     // nobody has written it yet, so there is nothing to read before it is written
}

// sameAs tells whether there is nothing to write.
func (d *digest) sameAs(o *digest) bool {
	return d.facts == o.facts && d.programmed == o.programmed && d.fields == o.fields && d.texts == o.texts
}

// sum is one number for all of it.
func (d *digest) sum() uint64 {
	return mixHashes(d.facts, d.programmed, d.fields, d.texts)
}

// mixHashes is one number for several, in their order.
func mixHashes(numbers ...uint64) (all uint64) {
	for _, n := range numbers {
		all = all*0x9e3779b97f4a7c15 + n
	}
	return all
}

// waitsMoreThan tells whether d waits for the proxies where o does not.
func (d *digest) waitsMoreThan(o *digest) bool {
	return slices.ContainsFunc(d.pending, func(place uint64) bool { return !slices.Contains(o.pending, place) })
}

// digestParts sums up a status.
func (f *statusLayout) digestParts(p statusParts) digest {
	d := digest{isUnwritten: len(p.entries) == 0}
	if f.Conditions != nil {
		d.addConditions("", f.Conditions, p.conditions)
	}
	for name := range f.Fields {
		d.fields += hashField("", name, p.fields[name])
	}
	for _, e := range p.entries {
		if !e.isOurs {
			continue
		}
		d.hasOurs = f.Controlled
		d.facts += hashWords(e.id)
		d.addConditions(e.id, f.InEntry, e.conditions)
		for name, text := range e.fields {
			switch name {
			case countField:
				d.texts += hashField(e.id, name, text)
			case f.Identity, controllerField: // they are the entry
			default:
				d.fields += hashField(e.id, name, text)
			}
		}
	}
	return d
}

// addConditions adds the conditions of one place.
func (d *digest) addConditions(place string, types []string, list []condition) {
	for _, c := range list {
		if !isOwnCondition(types, c.Type) {
			d.isUnwritten = false
			continue
		}
		d.isUnwritten = d.isUnwritten && c.Status == "Unknown"
		turned := hashWords(place, c.Type, c.Status, c.Reason)
		if isProgrammed(c.Type) {
			d.programmed += turned
		} else {
			d.facts += turned
			d.hasErrors = d.hasErrors || c.isBad()
		}
		if isProgrammed(c.Type) && c.Reason == pendingReason {
			d.pending = append(d.pending, hashWords(place))
		}
		d.fields += hashWords(place, c.Type, strconv.FormatInt(c.ObservedGeneration, 10))
		d.texts += hashWords(place, c.Type, c.Message)
		d.generation = max(d.generation, c.ObservedGeneration)
	}
}

// hashUID is an object's UID in short.
func hashUID(uid string) uint64 {
	if uid == "" {
		return 0
	}
	return hashWords(uid)
}

// isOtherObject tells whether two digests are of two objects that have, one after the other, the same name.
func (d *digest) isOtherObject(o *digest) bool { return d.uid != 0 && o.uid != 0 && d.uid != o.uid }

// hashField is 0 for a field that is not there.
func hashField(place, name string, text []byte) uint64 {
	value := canonicalJSON(text)
	if value == "" {
		return 0
	}
	return hashWords(place, name, value)
}

// hashWords keeps words apart: "a", "bc" is not "ab", "c".
func hashWords(words ...string) uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, w := range words {
		_, _ = d.WriteString(strconv.Itoa(len(w))) // it never fails
		_, _ = d.WriteString(":")
		_, _ = d.WriteString(w)
	}
	return d.Sum64()
}

package status

import (
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// digest stands for what of a status is ours. The sums do not depend on the order of conditions and entries, which is
// not ours.
type digest struct {
	facts      uint64   // which entries there are; the status and reason of all conditions but Programmed
	programmed uint64   // the status and reason of Programmed
	fields     uint64   // observed generations, addresses, kinds, features
	words      uint64   // messages and counts
	pending    []uint64 // where Programmed waits for the proxies: of a status that is well, none
	generation int64    // the newest that was observed
	uid        uint64   // of the object that it is of, hashed; 0: not known
	bad        bool     // a condition says that something is wrong, other than that the proxies are waited for
	tentative  bool     // wanted: what stands is likely to be truer, for some time
	claimed    bool     // seen: it has entries of ours beside others'; wanted: there is something to say
	blank      bool     // nobody has written it yet, so there is nothing to read before it is written
}

// equal tells whether there is nothing to write.
func (d *digest) equal(o *digest) bool {
	return d.facts == o.facts && d.programmed == o.programmed && d.fields == o.fields && d.words == o.words
}

// sum is one number for all of it.
func (d *digest) sum() uint64 {
	return mix(d.facts, d.programmed, d.fields, d.words)
}

// mix is one number for several, in their order.
func mix(numbers ...uint64) (all uint64) {
	for _, n := range numbers {
		all = all*0x9e3779b97f4a7c15 + n
	}
	return all
}

// waits tells whether d waits for the proxies where o does not.
func (d *digest) waits(o *digest) bool {
	return slices.ContainsFunc(d.pending, func(place uint64) bool { return !slices.Contains(o.pending, place) })
}

// digest sums up a status.
func (f *form) digest(p parts) digest {
	d := digest{blank: len(p.entries) == 0}
	if f.Conditions != nil {
		d.add("", f.Conditions, p.conditions)
	}
	for name := range f.Fields {
		d.fields += field("", name, p.fields[name])
	}
	for _, e := range p.entries {
		if !e.ours {
			continue
		}
		d.claimed = f.Controlled
		d.facts += hash(e.id)
		d.add(e.id, f.InEntry, e.conditions)
		for name, text := range e.fields {
			switch name {
			case countField:
				d.words += field(e.id, name, text)
			case f.Identity, controllerField: // they are the entry
			default:
				d.fields += field(e.id, name, text)
			}
		}
	}
	return d
}

// add adds the conditions of one place.
func (d *digest) add(place string, types []string, list []condition) {
	for _, c := range list {
		if !ours(types, c.Type) {
			d.blank = false
			continue
		}
		d.blank = d.blank && c.Status == "Unknown"
		turned := hash(place, c.Type, c.Status, c.Reason)
		if isProgrammed(c.Type) {
			d.programmed += turned
		} else {
			d.facts += turned
			d.bad = d.bad || c.bad()
		}
		if isProgrammed(c.Type) && c.Reason == pendingReason {
			d.pending = append(d.pending, hash(place))
		}
		d.fields += hash(place, c.Type, strconv.FormatInt(c.ObservedGeneration, 10))
		d.words += hash(place, c.Type, c.Message)
		d.generation = max(d.generation, c.ObservedGeneration)
	}
}

// identity is an object's UID in short.
func identity(uid string) uint64 {
	if uid == "" {
		return 0
	}
	return hash(uid)
}

// another tells whether two digests are of two objects that have, one after the other, the same name.
func (d *digest) another(o *digest) bool { return d.uid != 0 && o.uid != 0 && d.uid != o.uid }

// field is 0 for a field that is not there.
func field(place, name string, text []byte) uint64 {
	value := canonical(text)
	if value == "" {
		return 0
	}
	return hash(place, name, value)
}

// hash keeps words apart: "a", "bc" is not "ab", "c".
func hash(words ...string) uint64 {
	var d xxhash.Digest
	d.Reset()
	for _, w := range words {
		_, _ = d.WriteString(strconv.Itoa(len(w))) // it never fails
		_, _ = d.WriteString(":")
		_, _ = d.WriteString(w)
	}
	return d.Sum64()
}

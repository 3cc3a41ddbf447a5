package files

// documentDiff is what a file's new text has in common with its former documents.
type documentDiff struct {
	docs       []*document
	fresh      []freshDocument // the new ones
	head, tail int             // so many documents at the start and at the end are as before
	reordered  bool            // documents that stayed changed places
}

// freshDocument is a document that was not there before.
type freshDocument struct {
	at   int       // its place in the file
	pair *document // the former document that stood in its place, if any
}

// matchDocuments says for each chunk whether it is a document that the file had before.
func matchDocuments(chunks []chunk, fl *file) documentDiff {
	former := fl.docs
	docs := make([]*document, len(chunks))
	hashes := make([]fingerprint, len(chunks))
	for i, c := range chunks {
		hashes[i] = fingerprintOf(c.text)
	}
	head := 0
	for head < len(chunks) && head < len(former) && former[head].hash == hashes[head] {
		docs[head] = former[head]
		head++
	}
	tail := 0
	for tail < len(chunks)-head && tail < len(former)-head &&
		former[len(former)-1-tail].hash == hashes[len(chunks)-1-tail] {
		docs[len(chunks)-1-tail] = former[len(former)-1-tail]
		tail++
	}
	m := documentDiff{docs: docs, head: head, tail: tail}
	middle := former[head : len(former)-tail]
	positions := map[fingerprint][]int{}
	for i, d := range middle {
		positions[d.hash] = append(positions[d.hash], i)
	}
	taken := make([]bool, len(middle))
	pairs := pairing{former: middle, taken: taken, fresh: &m.fresh}
	for i := head; i < len(chunks)-tail; i++ {
		if at := positions[hashes[i]]; len(at) > 0 {
			positions[hashes[i]] = at[1:]
			docs[i] = middle[at[0]]
			taken[at[0]] = true
			m.reordered = pairs.advanceTo(at[0]) || m.reordered
			continue
		}
		docs[i] = &document{hash: hashes[i], file: fl}
		m.fresh = append(m.fresh, freshDocument{at: i})
	}
	pairs.advanceTo(len(middle))
	return m
}

// pairing gives new documents the former ones between the same neighbours, in order.
type pairing struct {
	former []*document
	taken  []bool
	from   int // the former document after the last neighbour
	fresh  *[]freshDocument
	paired int // so many fresh ones stand before the last neighbour
}

// advanceTo takes note of a document that stayed; it reports that it stood before one that now precedes it.
func (p *pairing) advanceTo(at int) (backwards bool) {
	if at < p.from {
		return true
	}
	waiting := (*p.fresh)[p.paired:]
	for i := p.from; i < at && len(waiting) > 0; i++ {
		if !p.taken[i] {
			waiting[0].pair = p.former[i]
			waiting = waiting[1:]
		}
	}
	p.paired = len(*p.fresh)
	p.from = at + 1
	return false
}

package flow

// A collection keeps its keys in two lists by the Rev of their last change: present keys, and tombstones of deleted ones.
// So what changed since a Rev is found from the newest end, at a cost in proportion to the changes.
//
//	live   newest <──> ... <──> oldest
//	dead   newest <──> ... <──> oldest   at most as many as there are present keys, or 4,096; the oldest are forgotten first

// keptTombstones is how many tombstones a small collection keeps.
const keptTombstones = 4096

type listed uint8

const (
	unlisted listed = iota
	inLive
	inDead
)

type recency struct {
	newest, oldest *node
	len            int
}

func (l *recency) push(n *node) {
	n.newer, n.older = nil, l.newest
	if l.newest != nil {
		l.newest.newer = n
	} else {
		l.oldest = n
	}
	l.newest = n
	l.len++
}

func (l *recency) remove(n *node) {
	if n.newer != nil {
		n.newer.older = n.older
	} else {
		l.newest = n.older
	}
	if n.older != nil {
		n.older.newer = n.newer
	} else {
		l.oldest = n.newer
	}
	n.newer, n.older = nil, nil
	l.len--
}

// list makes n the newest of one of the lists.
func (c *Collection[K, V]) list(n *node, to listed) {
	c.unlist(n)
	switch n.listed = to; to {
	case inLive:
		c.live.push(n)
	case inDead:
		c.dead.push(n)
	}
}

func (c *Collection[K, V]) unlist(n *node) {
	switch n.listed {
	case inLive:
		c.live.remove(n)
	case inDead:
		c.dead.remove(n)
	}
	n.listed = unlisted
}

// trim forgets the oldest tombstones above the bound, but none of the newest Rev: who follows each one sees every deletion.
func (c *Collection[K, V]) trim(rev Rev) {
	for c.dead.len > max(keptTombstones, c.present) && c.dead.oldest.changedAt < rev {
		n := c.dead.oldest
		c.unlist(n)
		c.forgotten = n.changedAt
		c.release(slotOf[K, V](n))
	}
}

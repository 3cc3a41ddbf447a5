package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"slices"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

const (
	defaultClaim = 32
	maxClaim     = 1000
	defaultLease = 10 * time.Second
	// silentClaims is how many claims in a row may stay unanswered. An object that ends its workers must not end them for
	// ever.
	silentClaims   = 3
	permanentRetry = time.Hour  // a permanent failure is tried again
	seenEvery      = 10_000_000 // microseconds between two writes of when a cluster was seen
)

// claimedWork is a row of work that was taken.
type claimedWork struct {
	object   string
	attempts int
}

// Claim takes objects that are due in a cluster.
func (s *Store) Claim(ctx context.Context, q ledger.ClaimQuery) (claims []ledger.Claim, err error) {
	if q.Max <= 0 {
		q.Max = defaultClaim
	}
	q.Max = min(q.Max, maxClaim)
	if q.Lease <= 0 {
		q.Lease = defaultLease
	}
	c := claimer{store: s, query: q, lease: newLease()}
	if err := s.runWrite(ctx, c.leaseWork); err != nil || len(c.taken) == 0 {
		return nil, err
	}
	hitFailpoint("after-claim")
	if err := s.runRead(ctx, c.readClaimed); err != nil {
		return nil, err // the lease ends by itself
	}
	return c.openContents(ctx)
}

// claimer is one claim: take, read, open.
type claimer struct {
	store *Store
	query ledger.ClaimQuery
	lease int64

	now      int64
	head     ledger.Head
	ahead    bool
	registry *registry
	taken    []claimedWork
	list     []objectRow
	known    map[string]*ledger.Applied
}

// newLease makes the number of a lease. A worker that answers must know it. It fits into 52 bits, as JSON wants.
func newLease() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return int64(binary.LittleEndian.Uint64(b[:])>>12) | 1
}

// leaseWork leases rows of work. Nothing else happens in its transaction.
func (c *claimer) leaseWork(t tx) error {
	c.taken = nil
	h, err := readHead(t, false)
	if err != nil {
		return err
	}
	c.now = h.now
	if c.registry, err = c.store.registry.readAt(t, h.registry); err != nil {
		return err
	}
	if _, ok := c.registry.clusters[c.query.Cluster]; !ok {
		return noCluster(c.query.Cluster)
	}
	_, err = t.exec(`UPDATE clusters SET seen = $2 WHERE name = $1 AND seen < $3`, c.query.Cluster, c.now, c.now-seenEvery)
	if err != nil {
		return err
	}
	if err := c.failSilentClaims(t); err != nil {
		return err
	}
	var paused []string
	for _, name := range c.registry.names {
		if until := c.registry.targets[name].PausedUntil; toMicros(until) > c.now {
			paused = append(paused, name)
		}
	}
	// All of the window may wait for lower ranks: then it begins again where something doesn't.
	for from, more := (dueGroup{}), true; more; {
		err := t.queryRows(func(rows *sql.Rows) error {
			var row claimedWork
			err := rows.Scan(&row.object, &row.attempts)
			c.taken = append(c.taken, row)
			return err
		}, claimStatement(t.dialect), c.query.Cluster, c.now, columnTable(paused).toJSON(), 4*c.query.Max, c.query.Max,
			c.now+c.query.Lease.Microseconds(), c.lease, c.query.Worker, from.due, from.change)
		if err != nil || len(c.taken) > 0 {
			return err
		}
		if from, more, err = c.findNextGroup(t, from, paused); err != nil {
			return err
		}
	}
	return nil
}

// failSilentClaims makes claims that were never answered a permanent failure. The plus has the databases take the index
// of those rows, which are few, and not that of all that are due.
func (c *claimer) failSilentClaims(t tx) error {
	type dead struct {
		object     string
		generation int64
	}
	var list []dead
	err := t.queryRows(func(rows *sql.Rows) error {
		var d dead
		err := rows.Scan(&d.object, &d.generation)
		list = append(list, d)
		return err
	}, `UPDATE work SET failed = failed + 1, silent = 0, lease = NULL, due = $3
		WHERE cluster = $1 AND silent >= 3 AND +due <= $2 RETURNING object, generation`,
		c.query.Cluster, c.now, c.now+permanentRetry.Microseconds())
	for _, d := range list {
		if err == nil {
			err = noteFailure(t, c.now, ledger.Failure{Object: d.object, Cluster: c.query.Cluster, Generation: d.generation,
				Code: "NoAnswer", Message: "claimed three times and never answered", Permanent: true})
		}
	}
	return err
}

// readClaimed reads what was taken, as it is now: newer than when it became due, perhaps.
func (c *claimer) readClaimed(t tx) error {
	ids := make([]string, len(c.taken))
	for i, row := range c.taken {
		ids[i] = row.object
	}
	h, err := readHead(t, false)
	if err != nil {
		return err
	}
	c.head = ledger.Head{Change: h.change, Compacted: h.compacted, Digest: h.digest, Epoch: h.epoch}
	if c.ahead, err = isBehind(t, c.head, c.query.Seen); err != nil {
		return err
	}
	c.list, c.known = nil, map[string]*ledger.Applied{}
	err = t.queryRows(func(rows *sql.Rows) error {
		o, err := scanObject(rows)
		c.list = append(c.list, o)
		return err
	}, "SELECT "+objectColumns+withBody+" FROM {rows $2} JOIN objects o ON o.id = r.value->>0 "+generationAt, h.change,
		columnTable(ids).toJSON())
	if err != nil {
		return err
	}
	err = t.queryRows(func(rows *sql.Rows) error {
		var id, cluster string
		a, err := scanApplied(rows, &id, &cluster)
		if cluster == c.query.Cluster {
			c.known[id] = a
		}
		return err
	}, appliedOf, columnTable(ids).toJSON())
	opener := resultOpener{store: c.store, t: t}
	for id, a := range c.known {
		if err == nil {
			err = opener.openResult(id, a)
		}
	}
	return err
}

// openContents opens the contents, in the order in which they are to be applied. A Secret that can't be opened is a
// failure of its own.
func (c *claimer) openContents(ctx context.Context) (claims []ledger.Claim, err error) {
	attempts := map[string]int{}
	for _, row := range c.taken {
		attempts[row.object] = row.attempts
	}
	slices.SortFunc(c.list, func(a, b objectRow) int {
		return workRank(a.Key, a.IsDeleted()) - workRank(b.Key, b.IsDeleted())
	})
	for _, o := range c.list {
		if o.body != nil {
			if o.Content, err = c.store.openContent(o.keyID, o.Hash, o.body); err != nil {
				_, err = c.store.Fail(ctx, ledger.Failure{Object: o.ID, Cluster: c.query.Cluster, Lease: c.lease,
					Generation: o.Generation, Code: string(ledger.Unprotected), Message: err.Error(), Permanent: true})
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		claims = append(claims, ledger.Claim{Object: o.Object, Cluster: c.query.Cluster, Lease: c.lease,
			Attempts: attempts[o.ID], Applied: c.known[o.ID], Target: c.registry.targets[o.Target],
			Until: fromMicros(c.now + c.query.Lease.Microseconds()), Head: c.head, Ahead: c.ahead})
	}
	return claims, nil
}

package store

import (
	"database/sql"

	"cardea.dev/cardea/internal/core/ledger"
)

// Conditions on an object o and its newest generation e.
const (
	// refusedLast: the last that somebody said of it is a refusal.
	refusedLast = `EXISTS (SELECT 1 FROM live l WHERE l.object = o.id AND l.refused = 1 AND l.generation >= e.generation
		AND NOT EXISTS (SELECT 1 FROM live n WHERE n.object = l.object AND n.cluster = l.cluster AND n.at > l.at))`
	acknowledged = `EXISTS (SELECT 1 FROM live l WHERE l.object = o.id AND l.refused = 0 AND l.generation >= e.generation)`
	// read: a Cardea that is waited for reads its target.
	read = `EXISTS (SELECT 1 FROM readers d WHERE d.target = o.target AND d.seen >= %s)`
	// unanswered: the last that one of them said is no acknowledgement.
	unanswered = `EXISTS (SELECT 1 FROM readers d WHERE d.target = o.target AND d.seen >= %s AND NOT EXISTS
		(SELECT 1 FROM live l WHERE l.object = o.id AND l.cluster = d.name AND l.refused = 0
		AND l.generation >= e.generation AND NOT EXISTS (SELECT 1 FROM live n WHERE n.object = l.object
		AND n.cluster = l.cluster AND n.refused = 1 AND n.generation >= e.generation AND n.at >= l.at)
		AND NOT EXISTS (SELECT 1 FROM waits n WHERE n.object = l.object AND n.cluster = l.cluster AND n.at >= l.at)))`
)

// pending selects what is not applied in a cluster, what proxies refused, and, of targets that proxies read, what is
// not live: as ledger.Status.Progress decides it.
func pending(w *where, cluster string, r *registry, now int64) {
	var proxies []string
	for name, target := range r.targets {
		if target.Server == ledger.Proxies {
			proxies = append(proxies, name)
		}
	}
	applied := "EXISTS (SELECT 1 FROM work p WHERE p.object = o.id"
	var args []any
	if cluster != "" {
		applied += " AND p.cluster = %s"
		args = append(args, cluster)
	}
	list, since := column(proxies).json(), now-ledger.WaitedFor.Microseconds()
	args = append(args, list, list, since, since)
	w.is("("+applied+") OR o.revision <> 0 AND (o.target NOT IN ({list %s}) AND "+refusedLast+
		" OR o.target IN ({list %s}) AND ("+unanswered+" OR NOT "+read+
		" AND ("+refusedLast+" OR NOT "+acknowledged+"))))", args...)
}

// readReaders are those that read each target.
func readReaders(t tx, now int64) (map[string][]ledger.Reading, error) {
	all := map[string][]ledger.Reading{}
	return all, t.each(func(rows *sql.Rows) error {
		var r ledger.Reading
		var seen int64
		err := rows.Scan(&r.Target, &r.Name, &r.Instance, &seen)
		r.Seen, r.Gone = fromMicros(seen), seen < now-ledger.WaitedFor.Microseconds()
		all[r.Target] = append(all[r.Target], r)
		return err
	}, "SELECT target, name, instance, seen FROM readers ORDER BY target, name")
}

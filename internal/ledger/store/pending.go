package store

import (
	"database/sql"

	"cardea.dev/cardea/internal/core/ledger"
)

// Conditions on an object o and its newest generation e.
const (
	// lastWasRefusal: the last that somebody said of it is a refusal.
	lastWasRefusal = `EXISTS (SELECT 1 FROM live l WHERE l.object = o.id AND l.refused = 1 AND l.generation >= e.generation
		AND NOT EXISTS (SELECT 1 FROM live n WHERE n.object = l.object AND n.cluster = l.cluster AND n.at > l.at))`
	acknowledged = `EXISTS (SELECT 1 FROM live l WHERE l.object = o.id AND l.refused = 0 AND l.generation >= e.generation)`
	// hasReader: a Cardea that is waited for reads its target.
	hasReader = `EXISTS (SELECT 1 FROM readers d WHERE d.target = o.target AND d.seen >= %s)`
	// readerUnanswered: the last that one of them said is no acknowledgement.
	readerUnanswered = `EXISTS (SELECT 1 FROM readers d WHERE d.target = o.target AND d.seen >= %s AND NOT EXISTS
		(SELECT 1 FROM live l WHERE l.object = o.id AND l.cluster = d.name AND l.refused = 0
		AND l.generation >= e.generation AND NOT EXISTS (SELECT 1 FROM live n WHERE n.object = l.object
		AND n.cluster = l.cluster AND n.refused = 1 AND n.generation >= e.generation AND n.at >= l.at)
		AND NOT EXISTS (SELECT 1 FROM waits n WHERE n.object = l.object AND n.cluster = l.cluster AND n.at >= l.at)))`
)

// selectPending selects what is not applied in a cluster, what proxies refused, and, of targets that proxies read, what
// is not live: as ledger.Status.ProgressAt decides it.
func selectPending(w *whereBuilder, cluster string, r *registry, now int64) {
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
	list, since := columnTable(proxies).toJSON(), now-ledger.WaitedFor.Microseconds()
	args = append(args, list, list, since, since)
	w.addCondition("("+applied+") OR o.revision <> 0 AND (o.target NOT IN ({list %s}) AND "+lastWasRefusal+
		" OR o.target IN ({list %s}) AND ("+readerUnanswered+" OR NOT "+hasReader+
		" AND ("+lastWasRefusal+" OR NOT "+acknowledged+"))))", args...)
}

// readReaders are those that read each target.
func readReaders(t tx, now int64) (map[string][]ledger.Reading, error) {
	all := map[string][]ledger.Reading{}
	return all, t.queryRows(func(rows *sql.Rows) error {
		var r ledger.Reading
		var seen int64
		err := rows.Scan(&r.Target, &r.Name, &r.Instance, &seen)
		r.Seen, r.Gone = fromMicros(seen), seen < now-ledger.WaitedFor.Microseconds()
		all[r.Target] = append(all[r.Target], r)
		return err
	}, "SELECT target, name, instance, seen FROM readers ORDER BY target, name")
}

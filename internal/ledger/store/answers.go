package store

import (
	"cmp"
	"database/sql"
	"slices"

	"cardea.dev/cardea/internal/core/ledger"
)

// fillProxies adds what proxies said, and who reads the objects' targets.
func fillProxies(t tx, q ledger.StatusQuery, list []ledger.Status, now int64) error {
	readers, err := readReaders(t, now)
	if err != nil {
		return err
	}
	byID, ids := map[string]*ledger.Status{}, make([]string, len(list))
	for i := range list {
		o := &list[i]
		ids[i], byID[o.ID] = o.ID, o
		o.Readers = readers[o.Target]
	}
	all := columnTable(ids).toJSON()
	if err := fillLive(t, q, byID, all); err != nil {
		return err
	}
	return t.queryRows(func(rows *sql.Rows) error {
		var id string
		var l ledger.Live
		var at int64
		if err := rows.Scan(&id, &l.Cluster, &l.Generation, &l.Waits, &at); err != nil {
			return err
		}
		o := byID[id]
		if l.Key, l.At = o.Key, fromMicros(at); q.Cluster == "" || q.Cluster == l.Cluster {
			o.Waits = append(o.Waits, l)
		}
		return nil
	}, `SELECT w.object, w.cluster, w.generation, w.words, w.at FROM {rows $1}
		JOIN waits w ON w.object = r.value->>0 ORDER BY w.object, w.cluster`, all)
}

// fillLive adds what the proxies of each Gateway said last.
func fillLive(t tx, q ledger.StatusQuery, byID map[string]*ledger.Status, all string) error {
	return t.queryRows(func(rows *sql.Rows) error {
		var id string
		var l ledger.Live
		var at int64
		if err := rows.Scan(&id, &l.Cluster, &l.Gateway, &l.Generation, &l.Proxies, &l.Refused, &at); err != nil {
			return err
		}
		l.At = fromMicros(at)
		o := byID[id]
		if l.Key = o.Key; q.Cluster != "" && q.Cluster != l.Cluster {
			return nil
		}
		i := slices.IndexFunc(o.Live, func(x ledger.Live) bool { return x.Cluster == l.Cluster && x.Gateway == l.Gateway })
		if i < 0 {
			o.Live = append(o.Live, l)
		} else if x := o.Live[i]; cmp.Or(cmp.Compare(x.Generation, l.Generation), x.At.Compare(l.At)) < 0 {
			o.Live[i] = l
		}
		return nil
	}, `SELECT l.object, l.cluster, l.gateway, l.generation, l.proxies, l.words, l.at FROM {rows $1}
		JOIN live l ON l.object = r.value->>0 ORDER BY l.object, l.cluster, l.gateway`, all)
}

package store

import (
	"context"
	"database/sql"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// Status lists what became of objects, by key.
func (s *Store) Status(ctx context.Context, q ledger.StatusQuery) (list []ledger.Status, err error) {
	err = s.runRead(ctx, func(t tx) error {
		h, err := readHead(t, false)
		if err != nil {
			return err
		}
		r, err := s.registry.readAt(t, h.registry)
		if err != nil {
			return err
		}
		if _, known := r.clusters[q.Cluster]; q.Cluster != "" && !known {
			return noCluster(q.Cluster)
		}
		if list, err = statusObjects(t, q, r, h.now); err != nil || len(list) == 0 {
			return err
		}
		if err := fillStatus(t, q, r, list); err != nil {
			return err
		}
		if err := fillProxies(t, q, list, h.now); err != nil {
			return err
		}
		opener := resultOpener{store: s, t: t}
		for _, o := range list {
			for _, c := range o.Clusters {
				if err := opener.openResult(o.ID, c.Applied); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return list, err
}

// statusObjects finds the objects that are asked for.
func statusObjects(t tx, q ledger.StatusQuery, r *registry, now int64) (list []ledger.Status, err error) {
	const newest = " JOIN generations g ON g.object = o.id AND g.generation = o.generation"
	w, from := whereBuilder{}, "objects o"+newest
	if len(q.Keys) > 0 {
		w.args = append(w.args, keyTable(q.Keys).toJSON())
		from = "{rows $1} JOIN objects o ON " + sameKey + newest
	}
	if q.Change != 0 {
		if _, err := readChange(t, q.Change); err != nil {
			return nil, err
		}
		w.args = append(w.args, q.Change)
		from += fmt.Sprintf(" JOIN generations e ON e.object = o.id AND e.change = $%d", len(w.args))
	} else {
		from += " JOIN generations e ON e.object = g.object AND e.generation = g.generation"
	}
	if q.Cluster != "" {
		w.addCondition("o.target IN ({list %s})", columnTable(r.servedBy(q.Cluster)).toJSON())
	}
	if len(q.Keys) == 0 && q.Change == 0 {
		// A deleted object is of interest until it is gone everywhere.
		w.addCondition("(o.revision <> 0 OR EXISTS (SELECT 1 FROM work d WHERE d.object = o.id))")
	}
	if q.Pending {
		selectPending(&w, q.Cluster, r, now)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = maxPage
	}
	w.args = append(w.args, limit)
	err = t.queryRows(func(rows *sql.Rows) error {
		var o ledger.Status
		var hold sql.NullString
		var at, since int64
		err := rows.Scan(&o.Target, &o.Group, &o.Kind, &o.Namespace, &o.Name, &o.ID, &o.Generation, &o.Revision, &o.Change,
			&at, &hold, &o.Newest, &since)
		if err != nil {
			return err
		}
		o.At, o.Deleted, o.LiveSince = fromMicros(at), o.Revision == 0, fromMicros(since)
		o.Hold, err = decodeHold(hold)
		list = append(list, o)
		return err
	}, `SELECT o.target, o.grp, o.kind, o.namespace, o.name, o.id, e.generation, e.revision, e.change, coalesce(c.at, 0),
		o.hold, o.generation, e.live_since FROM `+from+" LEFT JOIN changes c ON c.number = e.change"+w.whereClause()+
		fmt.Sprintf(" ORDER BY o.target, o.namespace, o.kind, o.grp, o.name LIMIT $%d", len(w.args)), w.args...)
	return list, err
}

const appliedOf = `SELECT a.object, a.cluster, a.generation, a.revision, a.uid, a.kube_generation, a.result, a.at,
	a.code, a.message, a.permanent FROM {rows $1} JOIN applied a ON a.object = r.value->>0 WHERE true`

func scanApplied(rows *sql.Rows, object, cluster *string) (*ledger.Applied, error) {
	a := &ledger.Applied{}
	var at int64
	var permanent int
	err := rows.Scan(object, cluster, &a.Generation, &a.Revision, &a.UID, &a.KubeGeneration, &a.Result, &at, &a.Code,
		&a.Message, &permanent)
	a.At, a.Permanent = fromMicros(at), permanent == 1
	return a, err
}

// fillStatus adds what is known in clusters, and of proxies.
func fillStatus(t tx, q ledger.StatusQuery, r *registry, list []ledger.Status) error {
	type place struct{ object, cluster string }
	in, byID := map[place]*ledger.InCluster{}, map[string]*ledger.Status{}
	ids := make([]string, len(list))
	for i := range list {
		o := &list[i]
		o.Server = r.targets[o.Target].Server
		ids[i], byID[o.ID] = o.ID, o
		for _, c := range r.serving[o.Target] {
			if q.Cluster == "" || q.Cluster == c {
				o.Clusters = append(o.Clusters, ledger.InCluster{Cluster: c})
			}
		}
		for j := range o.Clusters {
			in[place{o.ID, o.Clusters[j].Cluster}] = &o.Clusters[j]
		}
	}
	all := columnTable(ids).toJSON()
	err := t.queryRows(func(rows *sql.Rows) error {
		var p place
		a, err := scanApplied(rows, &p.object, &p.cluster)
		if c := in[p]; c != nil {
			c.Applied = a
		}
		return err
	}, appliedOf, all)
	if err != nil {
		return err
	}
	err = t.queryRows(func(rows *sql.Rows) error {
		var p place
		var due int64
		var attempts int
		err := rows.Scan(&p.object, &p.cluster, &due, &attempts)
		if c := in[p]; c != nil {
			c.Due, c.Attempts = fromMicros(due), attempts
		}
		return err
	}, `SELECT w.object, w.cluster, w.due, w.attempts FROM {rows $1} JOIN work w ON w.object = r.value->>0`, all)
	if err != nil {
		return err
	}
	err = t.queryRows(func(rows *sql.Rows) error {
		var p place
		var o ledger.InCluster
		err := rows.Scan(&p.object, &p.cluster, &o.Observed, &o.Drift, &o.DriftBy)
		if c := in[p]; c != nil {
			c.Observed, c.Drift, c.DriftBy = o.Observed, o.Drift, o.DriftBy
		}
		return err
	}, `SELECT v.object, v.cluster, v.generation, v.drift, v.by_whom FROM {rows $1}
		JOIN observed v ON v.object = r.value->>0`, all)
	if err != nil {
		return err
	}
	return fillFailures(t, byID, all)
}

// fillFailures adds the tries that failed of the generation that is asked for.
func fillFailures(t tx, byID map[string]*ledger.Status, all string) error {
	return t.queryRows(func(rows *sql.Rows) error {
		var id string
		var generation, at int64
		var a ledger.Failed
		err := rows.Scan(&id, &generation, &a.Cluster, &a.Gateway, &a.Code, &a.Message, &a.Times, &at)
		if o := byID[id]; o != nil && o.Generation == generation {
			a.At = fromMicros(at)
			o.Failures = append(o.Failures, a)
		}
		return err
	}, `SELECT a.object, a.generation, a.cluster, a.gateway, a.code, a.message, a.times, a.at FROM {rows $1}
		JOIN attempts a ON a.object = r.value->>0 ORDER BY a.object, a.at`, all)
}

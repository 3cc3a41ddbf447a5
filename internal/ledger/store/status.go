package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/ledger"
)

// Status lists what became of objects, by key.
func (s *Store) Status(ctx context.Context, q ledger.StatusQuery) (list []ledger.Status, err error) {
	err = s.view(ctx, func(t tx) error {
		h, err := readHead(t, false)
		if err != nil {
			return err
		}
		r, err := s.registry.at(t, h.registry)
		if err != nil {
			return err
		}
		if _, known := r.clusters[q.Cluster]; q.Cluster != "" && !known {
			return noCluster(q.Cluster)
		}
		if list, err = statusObjects(t, q, r); err != nil || len(list) == 0 {
			return err
		}
		if err := fillStatus(t, q, r, list); err != nil {
			return err
		}
		opener := resultOpener{store: s, t: t}
		for _, o := range list {
			for _, c := range o.Clusters {
				if err := opener.open(o.ID, c.Applied); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return list, err
}

// statusObjects finds the objects that are asked for.
func statusObjects(t tx, q ledger.StatusQuery, r *registry) (list []ledger.Status, err error) {
	const newest = " JOIN generations g ON g.object = o.id AND g.generation = o.generation"
	w, from := where{}, "objects o"+newest
	if len(q.Keys) > 0 {
		w.args = append(w.args, keyTable(q.Keys).json())
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
		w.is("o.target IN ({list %s})", column(r.servedBy(q.Cluster)).json())
	}
	if len(q.Keys) == 0 && q.Change == 0 {
		// What is deleted is of interest until it is gone everywhere.
		w.is("(o.revision <> 0 OR EXISTS (SELECT 1 FROM work d WHERE d.object = o.id))")
	}
	if q.Pending {
		pending(&w, q.Cluster, r)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = maxPage
	}
	w.args = append(w.args, limit)
	err = t.each(func(rows *sql.Rows) error {
		var o ledger.Status
		var hold sql.NullString
		var at int64
		err := rows.Scan(&o.Target, &o.Group, &o.Kind, &o.Namespace, &o.Name, &o.ID, &o.Generation, &o.Revision, &o.Change,
			&at, &hold, &o.Newest)
		if err != nil {
			return err
		}
		o.At, o.Deleted = fromMicros(at), o.Revision == 0
		o.Hold, err = decodeHold(hold)
		list = append(list, o)
		return err
	}, `SELECT o.target, o.grp, o.kind, o.namespace, o.name, o.id, e.generation, e.revision, e.change, coalesce(c.at, 0),
		o.hold, o.generation FROM `+from+" LEFT JOIN changes c ON c.number = e.change"+w.text()+
		fmt.Sprintf(" ORDER BY o.target, o.namespace, o.kind, o.grp, o.name LIMIT $%d", len(w.args)), w.args...)
	return list, err
}

// pending selects what is not applied in a cluster, or what no proxy acknowledged of targets that proxies read.
func pending(w *where, cluster string, r *registry) {
	var read []string
	for name, target := range r.targets {
		if target.Server == ledger.Proxies {
			read = append(read, name)
		}
	}
	applied := "EXISTS (SELECT 1 FROM work p WHERE p.object = o.id"
	var args []any
	if cluster != "" {
		applied += " AND p.cluster = %s"
		args = append(args, cluster)
	}
	w.is("("+applied+`) OR o.revision <> 0 AND o.target IN ({list %s}) AND NOT EXISTS
		(SELECT 1 FROM live l WHERE l.object = o.id AND l.refused = 0 AND l.generation >= e.generation))`,
		append(args, column(read).json())...)
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
	all := column(ids).json()
	err := t.each(func(rows *sql.Rows) error {
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
	err = t.each(func(rows *sql.Rows) error {
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
	err = t.each(func(rows *sql.Rows) error {
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
	if err := fillFailures(t, byID, all); err != nil {
		return err
	}
	return fillLive(t, q, byID, all)
}

// fillFailures adds the tries that failed of the generation that is asked for.
func fillFailures(t tx, byID map[string]*ledger.Status, all string) error {
	return t.each(func(rows *sql.Rows) error {
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

// fillLive adds what the proxies of each Gateway said last.
func fillLive(t tx, q ledger.StatusQuery, byID map[string]*ledger.Status, all string) error {
	err := t.each(func(rows *sql.Rows) error {
		var id string
		var l ledger.Live
		var at int64
		err := rows.Scan(&id, &l.Cluster, &l.Gateway, &l.Generation, &l.Proxies, &l.Refused, &at)
		l.At = fromMicros(at)
		o := byID[id]
		if l.Key = o.Key; q.Cluster != "" && q.Cluster != l.Cluster {
			return err
		}
		i := slices.IndexFunc(o.Live, func(x ledger.Live) bool { return x.Cluster == l.Cluster && x.Gateway == l.Gateway })
		if i < 0 {
			o.Live = append(o.Live, l)
		} else if x := o.Live[i]; cmp.Or(cmp.Compare(x.Generation, l.Generation), x.At.Compare(l.At)) < 0 {
			o.Live[i] = l
		}
		return err
	}, `SELECT l.object, l.cluster, l.gateway, l.generation, l.proxies, l.words, l.at FROM {rows $1}
		JOIN live l ON l.object = r.value->>0 ORDER BY l.object, l.cluster, l.gateway`, all)
	return err
}

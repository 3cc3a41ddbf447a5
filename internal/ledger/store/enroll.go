package store

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// SetTarget makes or changes a target.
func (s *Store) SetTarget(ctx context.Context, target ledger.Target, by string) error {
	if err := checkTarget(target); err != nil {
		return err
	}
	return s.editRegistry(ctx, func(t tx, r *registry, now int64) error {
		r.targets[target.Name] = target
		if err := logRegistryEdit(t, by, "Target "+target.Name, target); err != nil {
			return err
		}
		_, err := t.exec(`INSERT INTO targets (name, body, by_whom, at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET body = excluded.body, by_whom = excluded.by_whom, at = excluded.at`,
			target.Name, encodeJSON(target), by, now)
		if err != nil {
			return err
		}
		// Work that failed may have failed because of the target's earlier settings.
		_, err = t.exec(`UPDATE work SET due = $2 WHERE target = $1 AND failed > 0 AND lease IS NULL`, target.Name, now)
		return err
	})
}

func checkTarget(t ledger.Target) error {
	bad := func(field, message, fix string) error {
		return &ledger.Error{Code: ledger.Invalid, Object: "Target " + t.Name, Field: field, Message: message, Fix: fix}
	}
	switch {
	case t.Name == "" || !isText(t.Name) || strings.ContainsAny(t.Name, "/ "):
		return bad("name", "is not a name", "use letters, digits and dashes")
	case t.Server != ledger.Proxies && t.Server != ledger.Clusters:
		return bad("server", "is not known", "write Proxies or Clusters")
	case t.Approvals < 0 || t.Approvals > 100:
		return bad("approvals", "is not a possible number of approvals", "write a number from 0 to 100")
	case !slices.Contains([]ledger.Drift{"", ledger.DriftCorrect, ledger.DriftReport, ledger.DriftAdopt}, t.Drift):
		return bad("drift", "is not known", "write Correct, Report or Adopt")
	case !slices.Contains([]ledger.Existing{"", ledger.ExistingRefuse, ledger.ExistingAdopt, ledger.ExistingOverwrite},
		t.Existing):
		return bad("existing", "is not known", "write Refuse, Adopt or Overwrite")
	}
	return nil
}

// SetCluster makes or changes a cluster.
func (s *Store) SetCluster(ctx context.Context, c ledger.Cluster, by string) error {
	if c.Name == "" || !isText(c.Name) || strings.ContainsAny(c.Name, "/ ") {
		return &ledger.Error{Code: ledger.Invalid, Object: "Cluster " + c.Name, Field: "name", Message: "is not a name",
			Fix: "use letters, digits and dashes"}
	}
	return s.editRegistry(ctx, func(t tx, r *registry, now int64) error {
		r.clusters[c.Name] = c
		kept := c
		kept.Seen = fromMicros(0) // has a column
		if err := logRegistryEdit(t, by, "Cluster "+c.Name, kept); err != nil {
			return err
		}
		_, err := t.exec(`INSERT INTO clusters (name, body, by_whom, at, seen) VALUES ($1, $2, $3, $4, 0)
			ON CONFLICT (name) DO UPDATE SET body = excluded.body, by_whom = excluded.by_whom, at = excluded.at`,
			c.Name, encodeJSON(kept), by, now)
		return err
	})
}

// DeleteCluster forgets a cluster. The objects stay in it.
func (s *Store) DeleteCluster(ctx context.Context, name, by string) error {
	return s.editRegistry(ctx, func(t tx, r *registry, _ int64) error {
		if _, ok := r.clusters[name]; !ok {
			return noCluster(name)
		}
		delete(r.clusters, name)
		if err := logRegistryEdit(t, by, "Cluster "+name, nil); err != nil {
			return err
		}
		_, err := t.exec(`DELETE FROM clusters WHERE name = $1`, name)
		return err
	})
}

func noCluster(name string) error {
	return &ledger.Error{Code: ledger.NotFound, Object: "Cluster " + name, Message: "is not in the ledger",
		Fix: "`cardea ledger cluster` lists and makes clusters"}
}

// editRegistry edits the registry, with head locked: so no commit uses the one before. Then objects become due in
// clusters that serve a target from now on, and those that don't any more forget them.
func (s *Store) editRegistry(ctx context.Context, edit func(t tx, r *registry, now int64) error) error {
	return s.runWrite(ctx, func(t tx) error {
		h, err := readHead(t, true)
		if err != nil {
			return err
		}
		r, err := readRegistry(t)
		if err != nil {
			return err
		}
		before := r.serving
		if err := edit(t, r, h.now); err != nil {
			return err
		}
		r.deriveServing()
		for _, target := range slices.Sorted(maps.Keys(r.targets)) {
			was, is := before[target], r.serving[target]
			for _, c := range was {
				if !slices.Contains(is, c) {
					if err := forgetTarget(t, target, c); err != nil {
						return err
					}
				}
			}
			for _, c := range is {
				if !slices.Contains(was, c) {
					if err := addTargetWork(t, target, c, h.now); err != nil {
						return err
					}
				}
			}
		}
		_, err = t.exec(`UPDATE head SET registry = registry + 1 WHERE id = 1`)
		return err
	})
}

func addTargetWork(t tx, target, cluster string, now int64) error {
	_, err := t.exec(`INSERT INTO work (cluster, object, target, generation, change, rank, due)
		SELECT CAST($1 AS text), id, target, generation, change, rank, CAST($3 AS bigint) FROM objects
		WHERE target = $2 AND revision <> 0 ON CONFLICT (cluster, object) DO NOTHING`, cluster, target, now)
	return err
}

func forgetTarget(t tx, target, cluster string) error {
	for _, table := range []string{"work", "applied", "observed", "live"} {
		_, err := t.exec(`DELETE FROM `+table+` WHERE cluster = $1 AND object IN (SELECT id FROM objects WHERE target = $2)`,
			cluster, target)
		if err != nil {
			return err
		}
	}
	return nil
}

func encodeJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // it consists of text, lists and times
	}
	return string(text)
}

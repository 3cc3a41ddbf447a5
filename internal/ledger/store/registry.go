package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"cardea.dev/cardea/internal/core/ledger"
)

// registry is what targets and clusters there are. Each edit of them gives head another number of it.
type registry struct {
	number   int64
	targets  map[string]ledger.Target
	names    []string // of targets, sorted
	clusters map[string]ledger.Cluster
	serving  map[string][]string // by target, the clusters that serve it, sorted
}

// registryCache keeps the registry that was read last, so that commits need not read it each time.
type registryCache struct {
	mu   sync.Mutex
	last *registry
}

// readAt is the registry with a number, which t has just read from head.
func (c *registryCache) readAt(t tx, number int64) (*registry, error) {
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if last != nil && last.number == number {
		return last, nil
	}
	r, err := readRegistry(t)
	if err != nil {
		return nil, err
	}
	r.number = number
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil || c.last.number < number {
		c.last = r
	}
	return r, nil
}

func readRegistry(t tx) (*registry, error) {
	r := &registry{targets: map[string]ledger.Target{}, clusters: map[string]ledger.Cluster{}}
	err := t.queryRows(func(rows *sql.Rows) error {
		var text string
		var target ledger.Target
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &target); err != nil {
			return fmt.Errorf("read a target: %w", err)
		}
		r.targets[target.Name] = target
		return nil
	}, "SELECT body FROM targets")
	if err != nil {
		return nil, err
	}
	err = t.queryRows(func(rows *sql.Rows) error {
		var text string
		var seen int64
		var cluster ledger.Cluster
		if err := rows.Scan(&text, &seen); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &cluster); err != nil {
			return fmt.Errorf("read a cluster: %w", err)
		}
		cluster.Seen = fromMicros(seen)
		r.clusters[cluster.Name] = cluster
		return nil
	}, "SELECT body, seen FROM clusters")
	r.deriveServing()
	return r, err
}

// deriveServing finds which clusters serve which target.
func (r *registry) deriveServing() {
	r.serving, r.names = map[string][]string{}, nil
	for name, target := range r.targets {
		r.names = append(r.names, name)
		for _, c := range r.clusters {
			if target.ServedBy(c) {
				r.serving[name] = append(r.serving[name], c.Name)
			}
		}
		slices.Sort(r.serving[name])
	}
	slices.Sort(r.names)
}

// Targets lists the targets, by name.
func (s *Store) Targets(ctx context.Context) (list []ledger.Target, err error) {
	err = s.runRead(ctx, func(t tx) error {
		if _, err := readClock(t); err != nil {
			return err
		}
		r, err := readRegistry(t)
		if err != nil {
			return err
		}
		list = nil
		for _, name := range r.names {
			list = append(list, r.targets[name])
		}
		return nil
	})
	return list, err
}

// Clusters lists the clusters, by name.
func (s *Store) Clusters(ctx context.Context) (list []ledger.Cluster, err error) {
	err = s.runRead(ctx, func(t tx) error {
		if _, err := readClock(t); err != nil {
			return err
		}
		r, err := readRegistry(t)
		if err != nil {
			return err
		}
		list = nil
		for _, c := range r.clusters {
			list = append(list, c)
		}
		slices.SortFunc(list, func(a, b ledger.Cluster) int {
			if a.Name < b.Name {
				return -1
			}
			return 1
		})
		return nil
	})
	return list, err
}

// servedBy are the targets that a cluster serves.
func (r *registry) servedBy(cluster string) (targets []string) {
	for target, clusters := range r.serving {
		if slices.Contains(clusters, cluster) {
			targets = append(targets, target)
		}
	}
	return targets
}

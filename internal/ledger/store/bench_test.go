package store

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/test/postgrestest"
)

// onDatabases runs a benchmark on both.
func onDatabases(b *testing.B, run func(b *testing.B, s *Store)) {
	for _, name := range []string{"file", "postgres"} {
		b.Run(name, func(b *testing.B) {
			url := b.TempDir() + "/ledger.db"
			if name == "postgres" {
				url = postgrestest.New(b)
			}
			s, err := Open(b.Context(), Config{URL: url})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			run(b, s)
		})
	}
}

// BenchmarkCommit is one edit a change, by some clients, each waiting for its answer.
func BenchmarkCommit(b *testing.B) {
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			onDatabases(b, func(b *testing.B, s *Store) {
				took := make([]time.Duration, b.N)
				var next, all = make(chan int, b.N), sync.WaitGroup{}
				for i := range b.N {
					next <- i
				}
				close(next)
				b.ResetTimer()
				for range clients {
					all.Go(func() {
						for i := range next {
							start := time.Now()
							_, err := s.Commit(b.Context(), ledger.Draft{Author: "bench",
								Edits: []ledger.Edit{edit(fmt.Sprint("web-", i%1000), fmt.Sprint(i))}})
							if err != nil {
								b.Error(err)
								return
							}
							took[i] = time.Since(start)
						}
					})
				}
				all.Wait()
				slices.Sort(took)
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "edits/s")
				b.ReportMetric(float64(took[b.N/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(took[b.N*99/100].Microseconds())/1000, "p99-ms")
			})
		})
	}
}

// BenchmarkClaim claims and records 32 objects of 100,000 that are due.
func BenchmarkClaim(b *testing.B) {
	onDatabases(b, func(b *testing.B, s *Store) {
		dirty(b, s, 100_000)
		var took []time.Duration
		b.ResetTimer()
		for b.Loop() {
			start := time.Now()
			list, err := s.Claim(b.Context(), ledger.ClaimQuery{Cluster: "east", Worker: "w", Lease: time.Hour})
			took = append(took, time.Since(start))
			if err != nil || len(list) == 0 {
				b.Fatal(len(list), err)
			}
			b.StopTimer()
			for _, c := range list {
				ok, err := s.Record(b.Context(), ledger.Result{Object: c.ID, Cluster: "east", Lease: c.Lease,
					Generation: c.Generation, Revision: c.Revision})
				if err != nil || !ok {
					b.Fatal(ok, err)
				}
			}
			b.StartTimer()
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	})
}

// dirty makes objects that are due in a cluster, in changes of a thousand.
func dirty(b *testing.B, s *Store, n int) {
	b.Helper()
	if err := s.SetTarget(b.Context(), ledger.Target{Name: "apps", Server: ledger.Clusters}, "bench"); err != nil {
		b.Fatal(err)
	}
	if err := s.SetCluster(b.Context(), ledger.Cluster{Name: "east"}, "bench"); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	for i := 0; i < n; i += 1000 {
		d := ledger.Draft{Author: "bench"}
		for j := range 1000 {
			e := edit(fmt.Sprintf("web-%06d", i+j), "v1")
			e.Target, e.Kind = "apps", []string{"ConfigMap", "Service", "Gateway", "HTTPRoute"}[j%4]
			d.Edits = append(d.Edits, e)
		}
		if _, err := s.Commit(b.Context(), d); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("%d objects were committed in %s", n, time.Since(start).Round(time.Millisecond))
}

// BenchmarkPage reads a page of 100 of 100,000 objects, with contents, now and as of a change in the middle.
func BenchmarkPage(b *testing.B) {
	onDatabases(b, func(b *testing.B, s *Store) {
		dirty(b, s, 100_000)
		for _, at := range []int64{0, 50} {
			b.Run(fmt.Sprint("at-", at), func(b *testing.B) {
				k := ledger.Key{Target: "apps", Namespace: "shop", Kind: "HTTPRoute", Name: "web-010000"}
				for b.Loop() {
					list, err := s.Objects(b.Context(), ledger.ObjectsQuery{After: &k, At: at, Contents: true})
					if err != nil || len(list.Objects) != defaultPage {
						b.Fatal(len(list.Objects), err)
					}
				}
			})
		}
		b.Run("status", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Status(b.Context(), ledger.StatusQuery{Limit: 100}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("one-edit", func(b *testing.B) {
			i := 0
			for b.Loop() {
				e := edit("web-050000", fmt.Sprint("n", i))
				i++
				e.Target = "apps"
				if _, err := s.Commit(b.Context(), ledger.Draft{Edits: []ledger.Edit{e}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

// BenchmarkClaimWaiting claims one object behind a change whose 5,000 routes wait for its Gateway.
func BenchmarkClaimWaiting(b *testing.B) {
	onDatabases(b, func(b *testing.B, s *Store) {
		dirty(b, s, 0)
		behind(b, s, "edge", 4999)
		var took []time.Duration
		b.ResetTimer()
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			e := edit(fmt.Sprint("last-", i), "v1")
			e.Target = "apps"
			if _, err := s.Commit(b.Context(), ledger.Draft{Edits: []ledger.Edit{e}}); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			start := time.Now()
			list, err := s.Claim(b.Context(), ledger.ClaimQuery{Cluster: "east", Worker: "w", Lease: time.Hour})
			took = append(took, time.Since(start))
			if err != nil || len(list) != 1 {
				b.Fatal(len(list), err)
			}
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	})
}

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/ledger"
)

// BenchmarkCommitToCluster compares an edit that is committed to a ledger with one that is applied directly, each until
// a watch of another client sees it: medians in milliseconds.
func BenchmarkCommitToCluster(b *testing.B) {
	s := newStage(b)
	s.run()
	s.put(routeText)
	k := s.edit(routeText).Key
	s.synced(k)
	direct := strings.ReplaceAll(routeText, "name: web, namespace", "name: direct, namespace")
	at := s.place(k)
	force := true
	write := func(text string) {
		body, err := json.Marshal(s.read(text))
		s.must(err)
		_, err = at.Patch(context.Background(), "direct", types.ApplyPatchType, body,
			metav1.PatchOptions{FieldManager: "direct", Force: &force})
		s.must(err)
	}
	write(direct)
	watch, err := at.Watch(context.Background(), metav1.ListOptions{})
	s.must(err)
	defer watch.Stop()
	seen := func(name, host string) {
		for e := range watch.ResultChan() {
			o, ok := e.Object.(*unstructured.Unstructured)
			if ok && o.GetName() == name && fmt.Sprint(field(o, "spec", "hostnames")) == "["+host+"]" {
				return
			}
		}
	}
	var ours, theirs []time.Duration
	i := 0
	for b.Loop() {
		i++
		host := fmt.Sprintf("h%d.example", i)
		began := time.Now()
		write(strings.ReplaceAll(direct, "shop.example", host))
		seen("direct", host)
		theirs = append(theirs, time.Since(began))
		began = time.Now()
		s.put(strings.ReplaceAll(routeText, "shop.example", host))
		seen("web", host)
		ours = append(ours, time.Since(began))
	}
	for name, list := range map[string][]time.Duration{"ledger-ms": ours, "direct-ms": theirs} {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, name)
		b.ReportMetric(float64(list[len(list)*99/100].Microseconds())/1000, "p99-"+name)
	}
}

// BenchmarkThousandObjects is one change of a thousand objects till all of them are in the cluster, and again until all
// of them are gone.
func BenchmarkThousandObjects(b *testing.B) {
	const many = 1000
	for b.Loop() {
		s := newStage(b)
		stop := s.run(func(c *Config) { c.Log = nil })
		var texts []string
		var gone ledger.Draft
		for i := range many {
			texts = append(texts, s.numbered(i))
			gone.Edits = append(gone.Edits, ledger.Edit{Delete: true, Key: s.edit(texts[i]).Key})
		}
		applied := func(did string) time.Duration {
			began := time.Now()
			s.eventually(func() error {
				if n := s.counted("cardea_ledger_applied_total", did); n != many {
					return fmt.Errorf("%v %s", n, did)
				}
				return nil
			})
			return time.Since(began)
		}
		s.put(texts...)
		b.ReportMetric(many/applied("created").Seconds(), "created/s")
		s.commit(gone)
		b.ReportMetric(many/applied("deleted").Seconds(), "deleted/s")
		stop()
	}
}

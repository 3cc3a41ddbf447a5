package kinds

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
)

// Policies select objects by labels: of the kinds that can be selected they are kept, and of no other.
func TestLabelsAreKept(t *testing.T) {
	selectable := []model.Kind{
		model.KindGateway, model.KindHTTPRoute, model.KindGRPCRoute, model.KindService, model.KindXBackend,
		model.KindMCPBackend,
	}
	selectable = append(selectable, model.KindInferencePool)           // and annotations beside them
	used := []model.Kind{model.KindNamespace, model.KindEndpointSlice} // some labels, for other ends
	for _, k := range All() {
		if slices.Contains(used, k.Kind) {
			continue
		}
		labels := map[string]string{"team": "shop"}
		spec := reflect.New(k.Content.Spec.Elem()).Interface()
		got, _ := k.Content.Trim(labels, spec)
		want := map[string]string(nil)
		if slices.Contains(selectable, k.Kind) {
			want = labels
		}
		if !maps.Equal(got, want) {
			t.Errorf("of the labels of a %s, %v are kept, want %v", k, got, want)
		}
	}
}

// Equal labels of several objects are one text in memory.
func TestLabelsAreShared(t *testing.T) {
	read := func() map[string]string {
		labels := map[string]string{strings.Clone("team"): strings.Clone("shop")}
		kept, err := serviceKind().Content.Read(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Labels: labels}})
		if err != nil {
			t.Fatal(err)
		}
		return kept.Labels
	}
	a, b := read(), read()
	if a["team"] != "shop" || unsafe.StringData(a["team"]) != unsafe.StringData(b["team"]) {
		t.Errorf("%v and %v are not shared", a, b)
	}
}

// What the labels of an object take: the list, and of texts only those that no other object has.
func BenchmarkLabels(b *testing.B) {
	for _, n := range []int{0, 3, 6} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			const objects = 10000
			kept := make([]model.Labels, objects)
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				for i := range kept {
					labels := map[string]string{}
					for j := range n {
						labels["app.kubernetes.io/label-"+strconv.Itoa(j)] = "value-" + strconv.Itoa(i%50)
					}
					kept[i] = model.LabelsOf(internLabels(labels))
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(int64(after.HeapAlloc)-int64(before.HeapAlloc))/objects, "B/object")
				clear(kept)
			}
		})
	}
}

package schema

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kinds"
	"cardea.dev/cardea/internal/core/model"
)

// fill sets everything in a value, to what differs from place to place.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(uint64(*n % 256))
	case reflect.String:
		v.SetString(fmt.Sprintf("%d%s", *n, strings.Repeat("-", *n%700)))
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f, n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), *n%3, 8))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range *n % 3 {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, n)
			fill(elem, n)
			v.SetMapIndex(key, elem)
		}
	default:
		v.SetInt(int64(*n%2*2-1) * int64(*n))
	}
}

// Whatever an object holds, it comes back.
func TestStore(t *testing.T) {
	specs := one().storage.specs
	for _, k := range kinds.All() {
		kind := k.Kind
		if specs[kind] == nil {
			if !slices.Contains([]model.Kind{model.KindSecret, model.KindGatewayClass, model.KindDataPlane}, kind) {
				t.Errorf("a %s is not stored: each one is parsed again at each start", kind)
			}
			continue
		}
		for n := range 6 {
			spec := reflect.New(specs[kind].elem.of)
			fill(spec.Elem(), &n)
			objects := []Object{
				{Ref: model.Ref(kind, "shop", "web"), Spec: spec.Interface()},
				{
					Ref: model.Ref(kind, "", "web"), Labels: model.Labels{{Key: "a"}, {Key: "b", Value: "c"}},
					Stated: &ServerMetadata{UID: "u", Created: time.Unix(1<<35, 75e7), Generation: 1 << 40},
					Spec:   reflect.New(specs[kind].elem.of).Interface(),
				},
			}
			for _, want := range objects {
				var pool Pool
				stored := one().Store(nil, &want)
				for range 10 {
					got, err := one().Load(&pool, stored)
					if diff := difference(want, got); err != nil || diff != "" {
						t.Fatal(err, diff)
					}
					if !bytes.Equal(one().Store(nil, &got), stored) {
						t.Fatal("equal objects are stored in several ways")
					}
				}
			}
		}
	}
}

// What Check makes of the examples comes back, too.
func TestStoreExamples(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txtar")
	stored := map[model.Kind]bool{}
	var pool Pool
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".out") {
				continue
			}
			want, _ := one().Check(parse(t, string(f.Data)), Options{})
			if want == nil {
				continue
			}
			stored[want.Ref.Kind()] = true
			if diff := difference(*want, one().ShareContent(&pool, want)); diff != "" {
				t.Errorf("%s: %s", f.Name, diff)
			}
		}
	}
	if len(stored) < 5 {
		t.Error("only these kinds were stored:", stored)
	}
}

// An object is loaded whole or not at all.
func TestLoadWhole(t *testing.T) {
	o, found := one().Check(parse(t, fmt.Sprintf(route, 1)), Options{})
	if o == nil {
		t.Fatal(found)
	}
	stored := one().Store(nil, o)
	for i := range stored {
		if got, err := one().Load(new(Pool), stored[:i]); err == nil {
			t.Errorf("the first %d of %d bytes are %v", i, len(stored), got)
		}
	}
	if got, err := one().Load(new(Pool), append(stored, 0)); err == nil {
		t.Errorf("with one byte more it is %v", got)
	}
}

// Objects that are alike share their memory.
func TestShare(t *testing.T) {
	var pool Pool
	load := func(name int) (Object, *gatewayv1.HTTPRouteSpec) {
		o, found := one().Check(parse(t, fmt.Sprintf(route, name)), Options{})
		if o == nil {
			t.Fatal(found)
		}
		shared := one().ShareContent(&pool, o)
		return shared, shared.Spec.(*gatewayv1.HTTPRouteSpec)
	}
	_, first := load(1)
	other, two := load(2)
	if &first.ParentRefs[0] != &two.ParentRefs[0] || &first.Rules[0].Matches[0] != &two.Rules[0].Matches[0] {
		t.Error("equal parts are not shared")
	}
	if first.Rules[0].BackendRefs[0].Weight != two.Rules[0].BackendRefs[0].Weight ||
		first.Hostnames[0] == two.Hostnames[0] {
		t.Error("parts of unequal ones are not shared, or what is not equal is")
	}
	stored := one().Store(nil, &other)
	if allocs := testing.AllocsPerRun(10, func() { _, _ = one().Load(&pool, stored) }); allocs > 2 {
		t.Errorf("an object that is known to the last part takes %v allocations", allocs)
	}
	// A pool that is full begins anew.
	for i := range 3 * poolSize {
		other.Labels = model.Labels{{Key: "number", Value: fmt.Sprint(i)}}
		if got := one().ShareContent(&pool, &other); !reflect.DeepEqual(got, other) {
			t.Fatal(difference(got, other))
		}
		if len(pool.texts) > poolSize || len(pool.parts) > poolSize {
			t.Fatal("the pool grows without end")
		}
	}
}

// Secrets are not written to where others may read them, and what the next version is compared with is not lost.
func TestNotStored(t *testing.T) {
	for _, text := range []string{
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {a: b}",
		"apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: a}\nspec: {controllerName: " +
			"a.example/b}",
	} {
		o, found := one().Check(parse(t, text), Options{})
		if o == nil {
			t.Fatal(found)
		}
		if b := one().Store(nil, o); len(b) > 0 {
			t.Errorf("%s is stored: %q", o.Ref, b)
		}
		var pool Pool
		if diff := difference(*o, one().ShareContent(&pool, o)); diff != "" {
			t.Error(diff)
		}
	}
	o := &Object{Ref: model.Ref(model.KindNamespace, "", "a"), Spec: &input.NamespaceSpec{}}
	if len(one().Store(nil, o)) == 0 {
		t.Error("a Namespace is not stored")
	}
	if o.Old = map[string]any{}; len(one().Store(nil, o)) > 0 {
		t.Error("an object is stored without its Old")
	}
}

// Bytes that nobody stored are refused, or are some object. Some seeds are long: with -fuzzminimizetime 100x not all
// the time goes for making what is found shorter.
func FuzzLoad(f *testing.F) {
	for kind, l := range one().storage.specs {
		n := 0
		spec := reflect.New(l.of).Elem()
		fill(spec, &n)
		f.Add(one().Store(nil, &Object{Ref: model.Ref(kind, "shop", "web"), Labels: model.Labels{{Key: "a", Value: "b"}},
			Spec: spec.Interface()}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var pool Pool
		first, err := one().Load(&pool, b)
		if err != nil {
			return
		}
		again, err := one().Load(&pool, one().Store(nil, &first))
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Fatal(err, difference(first, again))
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	o, _ := one().Check(parse(b, fmt.Sprintf(route, 0)), Options{})
	text := one().Store(nil, o)
	b.ReportMetric(float64(len(text)), "bytes")
	b.ReportAllocs()
	var pool Pool
	for b.Loop() {
		if _, err := one().Load(&pool, text); err != nil {
			b.Fatal(err)
		}
	}
}

// difference is how two values differ, "" if they do not.
func difference(a, b any) string { return cmp.Diff(a, b, cmpopts.EquateComparable(model.ObjectRef{})) }

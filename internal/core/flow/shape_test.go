package flow

import (
	"math"
	"math/rand"
	"net/netip"
	"reflect"
	"testing"
	"testing/quick"
	"time"
	"unsafe"
)

func mustShape[T any](t *testing.T) shape {
	t.Helper()
	s, err := shapeOf(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func agree[T any](t *testing.T, s shape, a, b T, equal bool) {
	t.Helper()
	p, q := unsafe.Pointer(&a), unsafe.Pointer(&b)
	if s.equal(p, q) != equal || s.equal(q, p) != equal {
		t.Errorf("equal(%+v, %+v) is %t", a, b, !equal)
	}
	if same := s.hash(1, p) == s.hash(1, q); same != equal {
		t.Errorf("hashes of %+v and %+v are the same: %t", a, b, same)
	}
	if !s.equal(p, p) {
		t.Errorf("%+v differs from itself", a)
	}
}

// everything has a field of each kind.
type everything struct {
	A bool
	B int8
	C uint16
	D int
	E float32
	F complex128
	G string
	H []byte
	I []string
	J [3]int16
	K map[string]string
	L map[int][]string
	M *everything
	N struct{ X, Y string }
	O []struct{ P *int }
	Q map[[2]string]*string
}

// On random values with no time and no NaN, equality is reflect.DeepEqual, and the hash follows it.
func TestEqualityIsDeepEqual(t *testing.T) {
	s := mustShape[everything](t)
	seed := rand.NewSource(1)
	err := quick.Check(func(a, b everything) bool {
		agree(t, s, a, b, reflect.DeepEqual(a, b))
		agree(t, s, a, clone(a), true)
		return !t.Failed()
	}, &quick.Config{MaxCount: 300, Rand: rand.New(seed)})
	if err != nil {
		t.Error(err)
	}
	// Values that differ in one place only.
	base, _ := quick.Value(reflect.TypeFor[everything](), rand.New(seed))
	for i := range base.NumField() {
		for range 20 {
			other := reflect.New(base.Type()).Elem()
			other.Set(base)
			v, _ := quick.Value(base.Field(i).Type(), rand.New(seed))
			other.Field(i).Set(v)
			a, b := base.Interface().(everything), other.Interface().(everything)
			agree(t, s, a, b, reflect.DeepEqual(a, b))
		}
	}
}

// clone copies the maps, slices and pointers one level down, so that nothing is equal by address.
func clone(a everything) everything {
	b := a
	b.H = append([]byte(nil), a.H...)
	if a.H != nil && b.H == nil {
		b.H = []byte{}
	}
	if a.M != nil {
		m := clone(*a.M)
		b.M = &m
	}
	if a.K != nil {
		b.K = map[string]string{}
		for k, v := range a.K {
			b.K[k] = v
		}
	}
	if a.L != nil {
		b.L = map[int][]string{}
		for k, v := range a.L {
			b.L[k] = v
		}
	}
	return b
}

func TestEqualityOfSpecialValues(t *testing.T) {
	now := time.Now()
	times := mustShape[struct{ At *time.Time }](t)
	type at = struct{ At *time.Time }
	utc, wall := now.UTC(), now.Round(0)
	later := now.Add(1)
	agree(t, times, at{&now}, at{&utc}, true)
	agree(t, times, at{&now}, at{&wall}, true)
	agree(t, times, at{&now}, at{&later}, false)
	agree(t, times, at{&now}, at{nil}, false)

	floats := mustShape[float64](t)
	agree(t, floats, math.NaN(), math.NaN(), true)
	agree(t, floats, 0, math.Copysign(0, -1), true)
	agree(t, floats, math.NaN(), 0, false)

	agree(t, mustShape[[]int](t), nil, []int{}, false)
	agree(t, mustShape[[]byte](t), nil, []byte{}, false)
	agree(t, mustShape[map[string]string](t), nil, map[string]string{}, false)
	agree(t, mustShape[map[string]string](t), map[string]string{"a": ""}, map[string]string{"b": ""}, false)
	agree(t, mustShape[map[int]*int](t), map[int]*int{1: nil}, map[int]*int{2: nil}, false)
	agree(t, mustShape[map[int]*int](t), map[int]*int{1: nil}, map[int]*int{1: nil, 2: nil}, false)
	agree(t, mustShape[map[string]string](t), map[string]string{"a": ""}, map[string]string{"a": "", "b": ""}, false)
	agree(t, mustShape[[]string](t), []string{"a", "b"}, []string{"ab", ""}, false)

	type tree struct{ Children []*tree }
	agree(t, mustShape[tree](t), tree{[]*tree{{}, {[]*tree{{}}}}}, tree{[]*tree{{}, {[]*tree{{}}}}}, true)
	agree(t, mustShape[tree](t), tree{[]*tree{{}, {[]*tree{{}}}}}, tree{[]*tree{{}, {[]*tree{}}}}, false)

	type hidden struct {
		a, b string
		_    int
	}
	agree(t, mustShape[hidden](t), hidden{a: "a"}, hidden{a: "a"}, true)
	agree(t, mustShape[hidden](t), hidden{a: "a"}, hidden{b: "a"}, false)

	addrs := mustShape[netip.Addr](t)
	agree(t, addrs, netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("fe80::1%eth0"), true)
	agree(t, addrs, netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("fe80::1%eth1"), false)
}

// The order of keys is total, and 0 only for equal keys.
func TestKeysAreInOrder(t *testing.T) {
	type key struct {
		A string
		B int
		C [2]int8
		D uint32
		E bool
		F float32
	}
	compare, err := orderOf(reflect.TypeFor[key]())
	if err != nil {
		t.Fatal(err)
	}
	at := func(a, b key) int { return compare(unsafe.Pointer(&a), unsafe.Pointer(&b)) }
	err = quick.Check(func(a, b, c key) bool {
		return at(a, a) == 0 && at(a, b) == -at(b, a) && (at(a, b) == 0) == (a == b) &&
			!(at(a, b) < 0 && at(b, c) < 0 && at(a, c) >= 0)
	}, &quick.Config{MaxCount: 1000})
	if err != nil {
		t.Error(err)
	}
	if at(key{B: -1}, key{B: 1}) >= 0 || at(key{A: "a", B: 9}, key{A: "b"}) >= 0 || at(key{D: 1 << 31}, key{D: 1}) <= 0 {
		t.Error("not the order of the numbers")
	}
	addrs, err := orderOf(reflect.TypeFor[netip.Addr]())
	if err != nil {
		t.Fatal(err)
	}
	a, b := netip.MustParseAddr("fe80::1%eth0"), netip.MustParseAddr("fe80::1%eth1")
	if addrs(unsafe.Pointer(&a), unsafe.Pointer(&b)) == 0 {
		t.Error("two zones are one")
	}
}

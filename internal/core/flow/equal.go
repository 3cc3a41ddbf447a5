package flow

import (
	"reflect"
	"time"
	"unsafe"
)

// The shapes of each kind. Equal pointers, and slices and maps with the same memory, are equal without a comparison of
// their contents.

var timeShape = shape{
	equal: func(a, b unsafe.Pointer) bool { return (*time.Time)(a).Equal(*(*time.Time)(b)) },
	hash: func(h uint64, p unsafe.Pointer) uint64 {
		t := (*time.Time)(p)
		return mix(mix(h, uint64(t.Unix())), uint64(t.Nanosecond()))
	},
}

var bytesShape = shape{
	equal: func(a, b unsafe.Pointer) bool {
		x, y := *(*[]byte)(a), *(*[]byte)(b)
		return (x == nil) == (y == nil) && string(x) == string(y)
	},
	hash: func(h uint64, p unsafe.Pointer) uint64 {
		x := *(*[]byte)(p)
		return hashString(mix(h, uint64(boolToInt(x == nil))), unsafe.String(unsafe.SliceData(x), len(x)))
	},
}

type field struct {
	offset uintptr
	shape  shape
}

func fieldsShape(fields []field) shape {
	return shape{
		equal: func(a, b unsafe.Pointer) bool {
			for i := range fields {
				f := &fields[i]
				if !f.shape.equal(unsafe.Add(a, f.offset), unsafe.Add(b, f.offset)) {
					return false
				}
			}
			return true
		},
		hash: func(h uint64, p unsafe.Pointer) uint64 {
			for i := range fields {
				h = fields[i].shape.hash(h, unsafe.Add(p, fields[i].offset))
			}
			return h
		},
	}
}

func pointerShape(elem shape) shape {
	return shape{
		equal: func(a, b unsafe.Pointer) bool {
			x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
			return x == y || x != nil && y != nil && elem.equal(x, y)
		},
		hash: func(h uint64, p unsafe.Pointer) uint64 {
			x := *(*unsafe.Pointer)(p)
			if x == nil {
				return mix(h, 0)
			}
			return elem.hash(mix(h, 1), x)
		},
	}
}

// header is the layout of a slice of any type.
type header struct {
	data unsafe.Pointer
	len  int
	cap  int
}

func sliceShape(elem shape, size uintptr) shape {
	return shape{
		equal: func(a, b unsafe.Pointer) bool {
			x, y := (*header)(a), (*header)(b)
			if x.len != y.len || (x.data == nil) != (y.data == nil) {
				return false
			}
			return x.data == y.data || equalRun(elem, size, x.len, x.data, y.data)
		},
		hash: func(h uint64, p unsafe.Pointer) uint64 {
			x := (*header)(p)
			return hashRun(elem, size, x.len, mix(mix(h, uint64(boolToInt(x.data == nil))), uint64(x.len)), x.data)
		},
	}
}

func arrayShape(elem shape, size uintptr, n int) shape {
	return shape{
		equal: func(a, b unsafe.Pointer) bool { return equalRun(elem, size, n, a, b) },
		hash:  func(h uint64, p unsafe.Pointer) uint64 { return hashRun(elem, size, n, h, p) },
	}
}

func equalRun(elem shape, size uintptr, n int, a, b unsafe.Pointer) bool {
	for i := range uintptr(n) {
		if !elem.equal(unsafe.Add(a, i*size), unsafe.Add(b, i*size)) {
			return false
		}
	}
	return true
}

// stringsShape is for labels and annotations, the most frequent maps.
var stringsShape = shape{
	equal: func(a, b unsafe.Pointer) bool {
		if *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b) {
			return true
		}
		x, y := *(*map[string]string)(a), *(*map[string]string)(b)
		if len(x) != len(y) || (x == nil) != (y == nil) {
			return false
		}
		for k, v := range x {
			if w, ok := y[k]; !ok || v != w {
				return false
			}
		}
		return true
	},
	hash: func(h uint64, p unsafe.Pointer) uint64 {
		var sum uint64 // does not depend on the order of the map
		x := *(*map[string]string)(p)
		for k, v := range x {
			sum += hashString(hashString(h, k), v)
		}
		return mix(mix(h, uint64(boolToInt(x == nil))), sum)
	},
}

func reflectMapShape(t reflect.Type, key, elem shape) shape {
	at := func(v reflect.Value) unsafe.Pointer { // an addressable copy
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		return p.UnsafePointer()
	}
	return shape{
		equal: func(a, b unsafe.Pointer) bool {
			if *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b) {
				return true
			}
			x, y := reflect.NewAt(t, a).Elem(), reflect.NewAt(t, b).Elem()
			if x.Len() != y.Len() || x.IsNil() != y.IsNil() {
				return false
			}
			for k, v := range x.Seq2() {
				w := y.MapIndex(k)
				if !w.IsValid() || !elem.equal(at(v), at(w)) {
					return false
				}
			}
			return true
		},
		hash: func(h uint64, p unsafe.Pointer) uint64 {
			var sum uint64
			x := reflect.NewAt(t, p).Elem()
			for k, v := range x.Seq2() {
				sum += elem.hash(key.hash(h, at(k)), at(v))
			}
			return mix(mix(h, uint64(boolToInt(x.IsNil()))), sum)
		},
	}
}

func scalarShape(t reflect.Type) shape {
	switch t.Kind() {
	case reflect.String:
		return shape{
			equal: func(a, b unsafe.Pointer) bool { return *(*string)(a) == *(*string)(b) },
			hash:  func(h uint64, p unsafe.Pointer) uint64 { return hashString(h, *(*string)(p)) },
		}
	case reflect.Float32:
		return floatShape[float32]()
	case reflect.Float64:
		return floatShape[float64]()
	case reflect.Complex64:
		return arrayShape(floatShape[float32](), 4, 2)
	case reflect.Complex128:
		return arrayShape(floatShape[float64](), 8, 2)
	}
	switch t.Size() { // bool and the integers
	case 1:
		return wordShape[uint8]()
	case 2:
		return wordShape[uint16]()
	case 4:
		return wordShape[uint32]()
	default:
		return wordShape[uint64]()
	}
}

func wordShape[W uint8 | uint16 | uint32 | uint64]() shape {
	return shape{
		equal: func(a, b unsafe.Pointer) bool { return *(*W)(a) == *(*W)(b) },
		hash:  func(h uint64, p unsafe.Pointer) uint64 { return mix(h, uint64(*(*W)(p))) },
	}
}

// floatShape: NaN is equal to NaN; otherwise a value with NaN would change in every turn.
func floatShape[F float32 | float64]() shape {
	return shape{
		equal: func(a, b unsafe.Pointer) bool {
			x, y := *(*F)(a), *(*F)(b)
			return x == y || x != x && y != y
		},
		hash: func(h uint64, p unsafe.Pointer) uint64 { return mix(h, floatBits(float64(*(*F)(p)))) },
	}
}

package flow

import (
	"cmp"
	"reflect"
	"strings"
	"unsafe"
)

// orderOf returns a total order on keys of type t, so that no result depends on the order of a map or of arrival: it
// sorts group members with the same order string, and dumps. Keys without such an order (pointers, interfaces,
// channels) are refused.
func orderOf(t reflect.Type) (func(a, b unsafe.Pointer) int, error) {
	return orderAt(t, t.String())
}

func orderAt(t reflect.Type, path string) (func(a, b unsafe.Pointer) int, error) {
	switch t.Kind() {
	case reflect.Bool:
		return orderAs[uint8](), nil
	case reflect.Int8:
		return orderAs[int8](), nil
	case reflect.Int16:
		return orderAs[int16](), nil
	case reflect.Int32:
		return orderAs[int32](), nil
	case reflect.Int, reflect.Int64:
		return orderAs[int64](), nil // int has 64 bits on all supported systems
	case reflect.Uint8:
		return orderAs[uint8](), nil
	case reflect.Uint16:
		return orderAs[uint16](), nil
	case reflect.Uint32:
		return orderAs[uint32](), nil
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return orderAs[uint64](), nil
	case reflect.Float32:
		return orderAs[float32](), nil
	case reflect.Float64:
		return orderAs[float64](), nil
	case reflect.String:
		return func(a, b unsafe.Pointer) int { return strings.Compare(*(*string)(a), *(*string)(b)) }, nil
	case reflect.Struct:
		return orderStruct(t, path)
	case reflect.Array:
		elem, err := orderAt(t.Elem(), path+"[]")
		size, n := t.Elem().Size(), uintptr(t.Len())
		return func(a, b unsafe.Pointer) int {
			for i := range n {
				if c := elem(unsafe.Add(a, i*size), unsafe.Add(b, i*size)); c != 0 {
					return c
				}
			}
			return 0
		}, err
	}
	return nil, refuseType(t, path, "can't be a key")
}

func orderAs[W cmp.Ordered]() func(a, b unsafe.Pointer) int {
	return func(a, b unsafe.Pointer) int { return cmp.Compare(*(*W)(a), *(*W)(b)) }
}

func orderStruct(t reflect.Type, path string) (func(a, b unsafe.Pointer) int, error) {
	if isHandle(t) {
		return orderHandle(t, path)
	}
	type part struct {
		offset  uintptr
		compare func(a, b unsafe.Pointer) int
	}
	var parts []part
	for f := range t.Fields() {
		compare, err := orderAt(f.Type, path+"."+f.Name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{f.Offset, compare})
	}
	return func(a, b unsafe.Pointer) int {
		for _, p := range parts {
			if c := p.compare(unsafe.Add(a, p.offset), unsafe.Add(b, p.offset)); c != 0 {
				return c
			}
		}
		return 0
	}, nil
}

// isHandle: a unique.Handle, also inside netip.Addr, holds one pointer per distinct value, so what it points to orders
// it.
func isHandle(t reflect.Type) bool {
	return t.PkgPath() == "unique" && strings.HasPrefix(t.Name(), "Handle[") && t.NumField() == 1 &&
		t.Field(0).Type.Kind() == reflect.Pointer
}

func orderHandle(t reflect.Type, path string) (func(a, b unsafe.Pointer) int, error) {
	value, err := orderAt(t.Field(0).Type.Elem(), path)
	return func(a, b unsafe.Pointer) int {
		x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		switch {
		case x == y:
			return 0
		case x == nil:
			return -1
		case y == nil:
			return 1
		}
		return value(x, y)
	}, err
}

package flow

import (
	"fmt"
	"reflect"
	"sync"
	"time"
	"unsafe"
)

// shape compares and hashes values of one type, through pointers. It is built once for a type.
type shape struct {
	equal func(a, b unsafe.Pointer) bool
	hash  func(h uint64, p unsafe.Pointer) uint64
}

// shapeOf is the shape of t, or an error that names the field that can't be compared.
func shapeOf(t reflect.Type) (shape, error) {
	if s, found := shapes.Load(t); found {
		return s.(shape), nil
	}
	b := &shaper{done: map[reflect.Type]*shape{}}
	s, err := b.shapeAt(t, t.String())
	if err == nil {
		shapes.Store(t, s)
	}
	return s, err
}

var shapes sync.Map // reflect.Type: shape

// shaper builds the shape of one type.
type shaper struct {
	done map[reflect.Type]*shape // also those under construction: types may be recursive
}

var timeType = reflect.TypeFor[time.Time]()

// grouping is implemented by Members, whatever their types are.
type grouping interface {
	membersKit() (of kit, value reflect.Type)
}

func (b *shaper) shapeAt(t reflect.Type, path string) (shape, error) {
	if s := b.done[t]; s != nil {
		if s.equal != nil {
			return *s, nil
		}
		return shape{ // recursive: look the functions up when they are called
			equal: func(p, q unsafe.Pointer) bool { return s.equal(p, q) },
			hash:  func(h uint64, p unsafe.Pointer) uint64 { return s.hash(h, p) },
		}, nil
	}
	s := &shape{}
	b.done[t] = s
	made, err := b.buildShape(t, path)
	if err != nil {
		return shape{}, err
	}
	*s = made
	return made, nil
}

func (b *shaper) buildShape(t reflect.Type, path string) (shape, error) {
	if t == timeType {
		return timeShape, nil
	}
	if t.Kind() == reflect.Struct && t.Implements(reflect.TypeFor[grouping]()) {
		return b.membersShape(reflect.Zero(t).Interface().(grouping), path)
	}
	if isMessage(t) {
		return shape{}, refuseType(t, path, "is a protobuf message")
	}
	switch t.Kind() {
	case reflect.Func:
		return shape{}, refuseType(t, path, "is a func")
	case reflect.Chan:
		return shape{}, refuseType(t, path, "is a channel")
	case reflect.Interface:
		return shape{}, refuseType(t, path, "is an interface")
	case reflect.UnsafePointer:
		return shape{}, refuseType(t, path, "is an unsafe pointer")
	case reflect.Struct:
		return b.structShape(t, path)
	case reflect.Pointer:
		elem, err := b.shapeAt(t.Elem(), "*"+path)
		return pointerShape(elem), err
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return bytesShape, nil
		}
		elem, err := b.shapeAt(t.Elem(), path+"[]")
		return sliceShape(elem, t.Elem().Size()), err
	case reflect.Array:
		elem, err := b.shapeAt(t.Elem(), path+"[]")
		return arrayShape(elem, t.Elem().Size(), t.Len()), err
	case reflect.Map:
		return b.mapShape(t, path)
	}
	return scalarShape(t), nil
}

func (b *shaper) structShape(t reflect.Type, path string) (shape, error) {
	var fields []field
	for f := range t.Fields() {
		if f.Name == "_" {
			continue
		}
		s, err := b.shapeAt(f.Type, path+"."+f.Name)
		if err != nil {
			return shape{}, err
		}
		fields = append(fields, field{f.Offset, s})
	}
	return fieldsShape(fields), nil
}

func (b *shaper) mapShape(t reflect.Type, path string) (shape, error) {
	key, err := b.shapeAt(t.Key(), path+" key")
	if err != nil {
		return shape{}, err
	}
	elem, err := b.shapeAt(t.Elem(), path+"[]")
	if err != nil {
		return shape{}, err
	}
	if t.Key() == reflect.TypeFor[string]() && t.Elem() == reflect.TypeFor[string]() {
		return stringsShape, nil
	}
	return reflectMapShape(t, key, elem), nil
}

// isMessage tells protobuf messages by their one method that nothing else has, so that this package needs no protobuf.
func isMessage(t reflect.Type) bool {
	if t.Kind() == reflect.Interface {
		return false
	}
	_, direct := t.MethodByName("ProtoReflect")
	_, byPointer := reflect.PointerTo(t).MethodByName("ProtoReflect")
	return direct || byPointer
}

func refuseType(t reflect.Type, path, why string) error {
	return fmt.Errorf("%s: %s %s", path, t, why)
}

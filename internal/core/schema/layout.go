package schema

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// layout says how values of one type are written as bytes. The content of a pointer, a slice or a map stands behind its
// length, so that a reader who knows these bytes need not look inside.
//
//	bool, integer     varint
//	time              seconds since 1970, as a varint
//	string, []byte    length, bytes ([]byte: length + 1; 0 is nil)
//	struct            a bit for each field that is not zero, those fields
//	pointer           length + 1 (0 is nil), what it points to
//	slice, map        length + 1 (0 is nil), number of elements, elements; a map's in order of the keys
type layout struct {
	of     reflect.Type
	fields []*layout // of a struct
	key    *layout   // of a map
	elem   *layout   // of a pointer, a slice or a map
}

var timeType = reflect.TypeFor[time.Time]()

// layouts knows those that were made: types may be recursive.
type layouts map[reflect.Type]*layout

// layoutOf makes the layout of a type. It panics on what can't be stored: interfaces, functions, floats, unexported
// fields, keys that are no text.
func (known layouts) layoutOf(t reflect.Type) *layout {
	if l := known[t]; l != nil {
		return l
	}
	l := &layout{of: t}
	known[t] = l
	if t == timeType {
		return l
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Uint8, reflect.Uint16, reflect.Uint32,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
	case reflect.Struct:
		for f := range t.Fields() {
			if !f.IsExported() || len(l.fields) == 64 {
				panic(fmt.Sprintf("schema: field %s of %s can't be stored", f.Name, t))
			}
			l.fields = append(l.fields, known.layoutOf(f.Type))
		}
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic(fmt.Sprintf("schema: a %s can't be stored", t))
		}
		l.key, l.elem = known.layoutOf(t.Key()), known.layoutOf(t.Elem())
	case reflect.Pointer, reflect.Slice:
		l.elem = known.layoutOf(t.Elem())
	default:
		panic(fmt.Sprintf("schema: a %s can't be stored", t))
	}
	return l
}

// writeValue appends a value.
func (l *layout) writeValue(b []byte, v reflect.Value) []byte {
	switch l.of.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 2) // as the integer 1
		}
		return append(b, 0)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return binary.AppendVarint(b, int64(v.Uint()))
	case reflect.String:
		return append(binary.AppendUvarint(b, uint64(v.Len())), v.String()...)
	case reflect.Struct:
		if l.of == timeType {
			at := v.Interface().(time.Time)
			return binary.AppendVarint(binary.AppendVarint(b, at.Unix()), int64(at.Nanosecond()))
		}
		return l.writeFields(b, v)
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return append(b, 0)
		}
		start := len(b)
		b = l.writeContent(b, v)
		return slices.Insert(b, start, binary.AppendUvarint(nil, uint64(len(b)-start+1))...)
	}
	return binary.AppendVarint(b, v.Int())
}

func (l *layout) writeFields(b []byte, v reflect.Value) []byte {
	var mask uint64
	for i := range l.fields {
		if !v.Field(i).IsZero() {
			mask |= 1 << i
		}
	}
	b = binary.AppendUvarint(b, mask)
	for i, f := range l.fields {
		if mask&(1<<i) != 0 {
			b = f.writeValue(b, v.Field(i))
		}
	}
	return b
}

// writeContent appends what a pointer, a slice or a map holds.
func (l *layout) writeContent(b []byte, v reflect.Value) []byte {
	switch {
	case l.of.Kind() == reflect.Pointer:
		return l.elem.writeValue(b, v.Elem())
	case l.isBytes():
		return append(b, v.Bytes()...)
	}
	b = binary.AppendUvarint(b, uint64(v.Len()))
	if l.of.Kind() == reflect.Slice {
		for i := range v.Len() {
			b = l.elem.writeValue(b, v.Index(i))
		}
		return b
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	for _, k := range keys {
		b = l.elem.writeValue(l.key.writeValue(b, k), v.MapIndex(k))
	}
	return b
}

func (l *layout) isBytes() bool {
	return l.of.Kind() == reflect.Slice && l.elem.of.Kind() == reflect.Uint8
}

// storedReader reads what a layout wrote. After a mistake all that it reads is zero.
type storedReader struct {
	rest   []byte
	broken bool
	pool   *Pool
}

func (s *storedReader) readUvarint() uint64 {
	n, size := binary.Uvarint(s.rest)
	if size <= 0 {
		s.markBroken()
		return 0
	}
	s.rest = s.rest[size:]
	return n
}

func (s *storedReader) readVarint() int64 {
	n := s.readUvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (s *storedReader) readBytes(n uint64) []byte {
	if n > uint64(len(s.rest)) {
		s.markBroken()
		return nil
	}
	b := s.rest[:n]
	s.rest = s.rest[n:]
	return b
}

func (s *storedReader) markBroken() { s.rest, s.broken = nil, true }

// readValue fills a zero value.
func (l *layout) readValue(s *storedReader, v reflect.Value) {
	switch l.of.Kind() {
	case reflect.Bool:
		v.SetBool(s.readVarint() != 0)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(uint64(s.readVarint()))
	case reflect.String:
		v.SetString(s.pool.internText(s.readBytes(s.readUvarint())))
	case reflect.Struct:
		if l.of == timeType {
			seconds, nanoseconds := s.readVarint(), s.readVarint()
			v.Set(reflect.ValueOf(time.Unix(seconds, nanoseconds)))
			return
		}
		mask := s.readUvarint()
		for i, f := range l.fields {
			if mask&(1<<i) != 0 {
				f.readValue(s, v.Field(i))
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if n := s.readUvarint(); n > 0 {
			v.Set(s.pool.internPart(l, s, s.readBytes(n-1)))
		}
	default:
		v.SetInt(s.readVarint())
	}
}

// decodeContent makes the pointer, slice or map from its stored content.
func (l *layout) decodeContent(s *storedReader) reflect.Value {
	switch {
	case l.of.Kind() == reflect.Pointer:
		v := reflect.New(l.elem.of)
		l.elem.readValue(s, v.Elem())
		return v
	case l.isBytes():
		v := reflect.New(l.of).Elem()
		v.SetBytes(slices.Clone(s.readBytes(uint64(len(s.rest)))))
		return v
	}
	n := s.readUvarint()
	if n > uint64(len(s.rest)) { // the least that elements need
		s.markBroken()
		n = 0
	}
	if l.of.Kind() == reflect.Slice {
		v := reflect.MakeSlice(l.of, int(n), int(n))
		for i := range int(n) {
			l.elem.readValue(s, v.Index(i))
		}
		return v
	}
	v := reflect.MakeMapWithSize(l.of, int(n))
	for range n {
		key, elem := reflect.New(l.key.of).Elem(), reflect.New(l.elem.of).Elem()
		l.key.readValue(s, key)
		l.elem.readValue(s, elem)
		v.SetMapIndex(key, elem)
	}
	return v
}

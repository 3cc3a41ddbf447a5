package flow

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
)

// checkReadable returns an error for a type that holds plain bytes. Dumps would print them, as base64, and bytes are
// what encoded configuration with its secrets is: a type that is or holds bytes has to say by itself how it is shown.
func checkReadable(t reflect.Type, path string) error {
	if _, known := readableTypes.Load(t); known {
		return nil
	}
	err := plainBytes(t, path, map[reflect.Type]bool{})
	if err == nil {
		readableTypes.Store(t, nil)
	}
	return err
}

// readableTypes are those that checkReadable passed: graphs have collections of the same types.
var readableTypes sync.Map

func plainBytes(t reflect.Type, path string, seen map[reflect.Type]bool) error {
	says := t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	if seen[t] || says {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return refuseType(t, path, "is plain bytes, which dumps would show: use a type with MarshalText or MarshalJSON")
		}
		return plainBytes(t.Elem(), path+"[]", seen)
	case reflect.Pointer:
		return plainBytes(t.Elem(), "*"+path, seen)
	case reflect.Map:
		return plainBytes(t.Elem(), path+"[]", seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if err := plainBytes(f.Type, path+"."+f.Name, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

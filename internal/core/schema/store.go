package schema

import (
	"errors"
	"reflect"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// head is what is stored of an object before its spec.
type head struct {
	Group, Kind     string
	Namespace, Name string
	Labels          model.Labels
	Stated          *ServerMetadata
}

// storage says how heads are stored, and the specs of kinds that may have many objects.
type storage struct {
	heads *layout
	specs map[model.Kind]*layout
}

func newStorage(catalog *kind.Catalog) storage {
	known := layouts{}
	s := storage{heads: known.layoutOf(reflect.TypeFor[head]()), specs: map[model.Kind]*layout{}}
	for _, k := range catalog.All() {
		if k.Cacheable {
			s.specs[k.Kind] = known.layoutOf(k.Content.Spec)
		}
	}
	return s
}

var errNotStored = errors.New("not a stored object")

// Store appends an object as bytes, which Load of the same program turns back into an equal one. It appends nothing for
// what is not to be stored: objects of kinds that are not Many, such as Secrets, and objects with an Old.
func (s *Schema) Store(b []byte, o *Object) []byte {
	kind := o.Ref.Kind()
	spec := s.storage.specs[kind]
	if spec == nil || o.Old != nil {
		return b
	}
	b = s.storage.heads.writeValue(b, reflect.ValueOf(head{
		kind.Group(), kind.String(), o.Ref.Namespace(), o.Ref.Name(), o.Labels, o.Stated,
	}))
	return spec.writeContent(b, reflect.ValueOf(o.Spec))
}

// Load reads what Store wrote. Equal contents of several objects are shared by way of the pool.
func (s *Schema) Load(p *Pool, b []byte) (Object, error) {
	var h head
	from := storedReader{rest: b, pool: p}
	s.storage.heads.readValue(&from, reflect.ValueOf(&h).Elem())
	kind := model.KindOf(h.Group, h.Kind)
	spec := s.storage.specs[kind]
	if spec == nil || from.broken {
		return Object{}, errNotStored
	}
	value := p.internPart(spec, &from, from.rest)
	if from.broken {
		return Object{}, errNotStored
	}
	return Object{
		Ref: model.Ref(kind, h.Namespace, h.Name), Labels: h.Labels, Stated: h.Stated, Spec: value.Interface(),
	}, nil
}

// ShareContent is the object itself, or an equal one that shares with others what is equal in them.
func (s *Schema) ShareContent(p *Pool, o *Object) Object {
	if shared, err := s.Load(p, s.Store(nil, o)); err == nil {
		return shared
	}
	return *o
}

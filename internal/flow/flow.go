package flow

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"time"
)

// SKELETON: signatures only, so that other packages compile while flow is written. Replaced as a whole.

type Rev uint64
type Config struct {
	Name    string
	Check   bool
	Workers int
	Log     *slog.Logger
	Now     func() time.Time
}
type Graph struct{}
type Batch struct{}
type Ctx struct{}
type View struct{}
type Collection[K comparable, V any] struct{}
type Source[K comparable, V any] struct{}
type Members[K comparable, A any] struct{}
type Change[K comparable, V any] struct {
	Key     K
	Value   V
	Deleted bool
	Rev     Rev
}
type PanicKey struct{ Collection, Key string }
type Panic struct{ Message, Stack string }
type CollectionStats struct {
	Name string
	Keys int
}
type Turn struct{ Rev Rev }
type Part[O comparable] interface {
	comparable
	Owner() O
}

func New(Config) *Graph { panic("skeleton") }
func NewSource[K comparable, V any](g *Graph, name string) *Source[K, V] {
	panic("skeleton")
}
func (s *Source[K, V]) Collection() *Collection[K, V] { panic("skeleton") }
func (s *Source[K, V]) Set(b *Batch, k K, v V)        {}
func (s *Source[K, V]) Delete(b *Batch, k K)          {}
func (s *Source[K, V]) Synced(b *Batch)               {}
func Derive[K comparable, A any, P Part[K], B any](in *Collection[K, A], name string, f func(c *Ctx, k K, a A, emit func(P, B))) *Collection[P, B] {
	panic("skeleton")
}
func Map[K comparable, A, B any](in *Collection[K, A], name string, f func(c *Ctx, k K, a A) (B, bool)) *Collection[K, B] {
	panic("skeleton")
}
func Group[K comparable, A any, G comparable](in *Collection[K, A], name string, of func(K, A) []G, order func(K, A) string) *Collection[G, Members[K, A]] {
	panic("skeleton")
}
func Fetch[K comparable, V any](c *Ctx, from *Collection[K, V], k K) (V, bool) { panic("skeleton") }
func (m Members[K, A]) Len() int                                             { panic("skeleton") }
func (m Members[K, A]) At(i int) (K, A)                                      { panic("skeleton") }
func (m Members[K, A]) All() iter.Seq2[K, A]                                 { panic("skeleton") }
func (g *Graph) Apply(cause string, edit func(*Batch))                       { panic("skeleton") }
func (g *Graph) Run(ctx context.Context) error                               { panic("skeleton") }
func (g *Graph) Settle()                                                     { panic("skeleton") }
func (g *Graph) Try(edit func(*Batch), read func(View)) error                { panic("skeleton") }
func (g *Graph) View(read func(View))                                        { panic("skeleton") }
func (g *Graph) Watch(ctx context.Context) iter.Seq[Rev]                     { panic("skeleton") }
func Get[K comparable, V any](v View, c *Collection[K, V], k K) (V, bool)     { panic("skeleton") }
func All[K comparable, V any](v View, c *Collection[K, V]) iter.Seq2[K, V]    { panic("skeleton") }
func Len[K comparable, V any](v View, c *Collection[K, V]) int               { panic("skeleton") }
func ChangedAt[K comparable, V any](v View, c *Collection[K, V], k K) Rev     { panic("skeleton") }
func Changes[K comparable, V any](v View, c *Collection[K, V], since Rev) iter.Seq[Change[K, V]] {
	panic("skeleton")
}
func (v View) Rev() Rev                                    { panic("skeleton") }
func (g *Graph) Panics() *Collection[PanicKey, Panic]      { panic("skeleton") }
func (g *Graph) Stats() []CollectionStats                  { panic("skeleton") }
func (g *Graph) Turns() []Turn                             { panic("skeleton") }
func (g *Graph) Dump(w io.Writer, collection string) error { panic("skeleton") }

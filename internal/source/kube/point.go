package kube

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// pointPace is slower than that of kinds, since there may be thousands.
var pointPace = pace{500 * time.Millisecond, 5 * time.Second}

// point follows a single object until ctx ends.
func (e *Edge) point(ctx context.Context, ref model.ObjectRef, keys kind.Keys) {
	k := e.sources.Catalog.Of(ref.Kind())
	send := func(v event) {
		v.kind, v.ref = ref.Kind(), ref
		e.mail.put(v)
	}
	follow(ctx, e.clients.one(k, ref.Namespace(), ref.Name()), sink[*object]{
		trim: func(from any) (*object, error) { return trim(k, from, keys) },
		replace: func(objects []*object) {
			answer := event{what: isAnswered, keys: keys}
			if len(objects) > 0 {
				answer.object = objects[0]
			}
			send(answer)
		},
		set:    func(o *object) { send(event{what: isAnswered, object: o, keys: keys}) },
		remove: func(metav1.Object) { send(event{what: isAnswered, keys: keys}) },
		failed: func(err error) {
			e.metrics.failed(ref.Kind())
			send(event{what: isFailed, err: err})
		},
		works: func() {},
	}, pointPace)
}

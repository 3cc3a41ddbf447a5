package kube

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// objectPace is slower than that of kinds, since there may be thousands.
var objectPace = pace{500 * time.Millisecond, 5 * time.Second}

// followObject follows a single object until ctx ends.
func (e *Watcher) followObject(ctx context.Context, ref model.ObjectRef, keys kind.DataKeys) {
	k := e.sources.Catalog.FindKind(ref.Kind())
	send := func(v event) {
		v.objectKind, v.ref = ref.Kind(), ref
		e.mail.putEvent(v)
	}
	followObjects(ctx, e.clients.objectReader(k, ref.Namespace(), ref.Name()), sink[*object]{
		trim: func(from any) (*object, error) { return trimObject(k, from, keys) },
		replace: func(objects []*object) {
			answer := event{action: isAnswered, keys: keys}
			if len(objects) > 0 {
				answer.object = objects[0]
			}
			send(answer)
		},
		set:    func(o *object) { send(event{action: isAnswered, object: o, keys: keys}) },
		remove: func(metav1.Object) { send(event{action: isAnswered, keys: keys}) },
		onFailure: func(err error) {
			e.metrics.countError(ref.Kind())
			send(event{action: isFailed, err: err})
		},
		onAnswer: func() {},
	}, objectPace)
}

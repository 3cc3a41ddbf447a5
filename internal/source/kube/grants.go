package kube

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// grants are the ReferenceGrants as they are now, also those that wait. An object in another namespace is read only if
// one of them permits the reference: so nobody can have others' Secrets read by naming them.
type grants map[string]map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec // by namespace

// mayRead says whether an object is to be read because another one refers to it.
func (g grants) mayRead(user, to model.ObjectRef) bool {
	if user.Namespace() == to.Namespace() || to.Namespace() == "" { // what has no namespace is everybody's
		return true
	}
	for _, grant := range g[to.Namespace()] {
		if input.Permits(grant, user, to) {
			return true
		}
	}
	return false
}

// grant notes what a ReferenceGrant permits from now on, nil: nothing. Objects that become permitted are asked for at
// once; the grant itself goes into the graph with the answers.
func (d *intake) grant(ref model.ObjectRef, spec *gatewayv1.ReferenceGrantSpec) {
	namespace := ref.Namespace()
	if d.grants[namespace] == nil {
		d.grants[namespace] = map[model.ObjectRef]*gatewayv1.ReferenceGrantSpec{}
	}
	if d.grants[namespace][ref] = spec; spec == nil {
		delete(d.grants[namespace], ref)
	}
	if len(d.grants[namespace]) == 0 {
		delete(d.grants, namespace)
	}
	for _, user := range d.wanted.across(namespace) {
		live, _ := d.life.Known(user)
		next, _ := d.life.Waiting(user)
		d.want(user, live.names(), next.names())
		d.life.Answered(user, d.now) // what is not permitted any more is not waited for
	}
}

// grantWaits says whether something that a grant may permit is still to be answered.
func (d *intake) grantWaits(grant model.ObjectRef) bool {
	for to, w := range d.wanted.objects {
		if w.state == pending && to.Namespace() == grant.Namespace() {
			for user := range w.users {
				if user.Namespace() != to.Namespace() {
					return true
				}
			}
		}
	}
	return false
}

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
		if input.GrantPermits(grant, user, to) {
			return true
		}
	}
	return false
}

// updateGrant notes what a ReferenceGrant permits from now on, nil: nothing. Objects that become permitted are asked
// for at once; the grant itself goes into the graph with the answers.
func (d *admitter) updateGrant(ref model.ObjectRef, spec *gatewayv1.ReferenceGrantSpec) {
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
	for _, user := range d.demands.crossNamespaceUsers(namespace) {
		live, _ := d.objects.PublishedVersion(user)
		next, _ := d.objects.WaitingVersion(user)
		d.demandReferences(user, live.listReferences(), next.listReferences())
		d.objects.RecheckUnanswered(user, d.now) // what is not permitted any more is not waited for
	}
}

// grantWaits says whether something that a grant may permit is still to be answered.
func (d *admitter) grantWaits(grant model.ObjectRef) bool {
	for to, w := range d.demands.objects {
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

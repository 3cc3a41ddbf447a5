// Package synthetic is the objects that are there without anybody stating them, where no cluster makes them: the
// GatewayClass "cardea", and the Namespaces of objects.
//
// It must never know where objects come from. One goroutine uses a Namespaces. Start reading at Of.
package synthetic

import (
	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// Class is the GatewayClass of Gateways that Cardea runs.
var Class = model.Ref(model.KindGatewayClass, "", "cardea")

// Namespaces counts the objects of each namespace, since one that has any exists.
type Namespaces map[string]int

// AddObjects takes that a namespace has more objects, or fewer (n < 0). It tells whether the namespace came or left.
// Objects without a namespace are in none.
func (u Namespaces) AddObjects(namespace string, n int) (changed bool) {
	if namespace == "" {
		return false
	}
	before := u[namespace]
	u[namespace] += n
	if u[namespace] == 0 {
		delete(u, namespace)
	}
	return before == 0 || before+n == 0
}

// ObjectOf is an object that is there by itself; false if there is none of that name.
func (u Namespaces) ObjectOf(ref model.ObjectRef) (o input.ObjectContent, is bool) {
	switch {
	case ref == Class:
		return input.ObjectContent{Ref: ref, Spec: &gatewayv1.GatewayClassSpec{
			ControllerName: model.ControllerName, Description: new("Gateways that Cardea runs."),
		}}, true
	case ref.Kind() == model.KindNamespace && u[ref.Name()] > 0:
		return input.ObjectContent{Ref: ref, Spec: &input.NamespaceSpec{}, Labels: NamespaceLabels(nil, ref.Name())}, true
	}
	return input.ObjectContent{}, false
}

// NamespaceLabels are the labels of a Namespace, with the one that Kubernetes adds.
func NamespaceLabels(labels model.Labels, name string) model.Labels {
	all := labels.ToMap()
	if all == nil {
		all = map[string]string{}
	}
	all[corev1.LabelMetadataName] = name
	return model.LabelsOf(all)
}

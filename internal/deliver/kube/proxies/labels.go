package proxies

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// Labels and annotations of all objects that this package applies. Users can't override them.
const (
	nameLabel      = "app.kubernetes.io/name"
	instanceLabel  = "app.kubernetes.io/instance"
	managedByLabel = "app.kubernetes.io/managed-by"
	gatewayLabel   = gatewayv1.GatewayNameLabelKey

	gatewayAnnotation   = "cardea.dev/gateway"    // the whole name
	dataPlaneAnnotation = "cardea.dev/data-plane" // of the Deployment: that of its pods
	bootstrapAnnotation = "cardea.dev/bootstrap"

	filesLabel          = "cardea.dev/files"      // of the objects that Files writes
	writtenAtAnnotation = "cardea.dev/written-at" // of the same: when they changed last

	proxyApp = "cardea-proxy" // value of nameLabel in the objects of a Gateway
	manager  = "cardea"       // value of managedByLabel, and the field manager
)

// selectorOf selects all objects that this package applies.
func selectorOf(all podFinders) string {
	apps := append([]string{proxyApp}, all.apps()...)
	return nameLabel + " in (" + strings.Join(apps, ", ") + ")," + managedByLabel + "=" + manager
}

// podSelector selects a Gateway's pods. The selector of a Deployment is immutable, so this must never change.
func podSelector(p plan.ProxySpec) map[string]string {
	return map[string]string{nameLabel: proxyApp, instanceLabel: p.Name}
}

// objectLabels are the labels of all objects of a Gateway.
func objectLabels(ref model.ObjectRef, p plan.ProxySpec, more ...map[string]string) map[string]string {
	own := map[string]string{managedByLabel: manager, gatewayLabel: model.LabelValue(ref.Name())}
	all := mergeMaps(append(append([]map[string]string{p.Labels}, more...), own, podSelector(p))...)
	delete(all, filesLabel)
	return all
}

func objectAnnotations(ref model.ObjectRef, p plan.ProxySpec, more ...map[string]string) map[string]string {
	return mergeMaps(append(append([]map[string]string{p.Annotations}, more...),
		map[string]string{gatewayAnnotation: ref.Name()})...)
}

// ownerReference makes the Gateway the owner of an object, so that the cluster deletes it with the Gateway, even
// without Cardea.
func ownerReference(ref model.ObjectRef, p plan.ProxySpec) fields {
	return ownerOf(ref, gatewayv1.GroupVersion.String(), p.UID)
}

// ownerOf makes an object the owner of another one.
func ownerOf(ref model.ObjectRef, apiVersion, uid string) fields {
	return fields{"apiVersion": apiVersion, "kind": ref.Kind().String(), "name": ref.Name(), "uid": uid,
		"controller": true}
}

// gatewayOf is the Gateway that an object belongs to; false if the object does not say.
func gatewayOf(o metav1.Object) (model.ObjectRef, bool) {
	for _, owner := range o.GetOwnerReferences() {
		group, _, _ := strings.Cut(owner.APIVersion, "/")
		if model.KindOf(group, owner.Kind) == model.KindGateway {
			return model.Ref(model.KindGateway, o.GetNamespace(), owner.Name), true
		}
	}
	name := o.GetAnnotations()[gatewayAnnotation]
	return model.Ref(model.KindGateway, o.GetNamespace(), name), name != ""
}

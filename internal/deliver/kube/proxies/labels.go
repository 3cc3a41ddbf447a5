package proxies

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
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

	proxyApp    = "cardea-proxy"    // value of nameLabel in the objects of a Gateway
	xbackendApp = "cardea-xbackend" // value of nameLabel in the Service of an XBackend
	poolApp     = "cardea-pool"     // value of nameLabel in the Service of an InferencePool
	manager     = "cardea"          // value of managedByLabel, and the field manager
)

// ownSelector selects all objects that this package applies.
const ownSelector = nameLabel + " in (" + proxyApp + ", " + xbackendApp + ", " + poolApp + ")," +
	managedByLabel + "=" + manager

// podSelector selects a Gateway's pods. The selector of a Deployment is immutable, so this must never change.
func podSelector(p plan.Proxy) map[string]string {
	return map[string]string{nameLabel: proxyApp, instanceLabel: p.Name}
}

// labels are the labels of all objects of a Gateway.
func labels(ref model.ObjectRef, p plan.Proxy, more ...map[string]string) map[string]string {
	own := map[string]string{managedByLabel: manager, gatewayLabel: model.LabelValue(ref.Name())}
	all := joined(append(append([]map[string]string{p.Labels}, more...), own, podSelector(p))...)
	delete(all, filesLabel)
	return all
}

func annotations(ref model.ObjectRef, p plan.Proxy, more ...map[string]string) map[string]string {
	return joined(append(append([]map[string]string{p.Annotations}, more...),
		map[string]string{gatewayAnnotation: ref.Name()})...)
}

// owner makes the Gateway the owner of an object, so that the cluster deletes it with the Gateway, even without Cardea.
func owner(ref model.ObjectRef, p plan.Proxy) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(gatewayv1.GroupVersion.String()).WithKind(model.KindGateway.String()).
		WithName(ref.Name()).WithUID(uid(p)).WithController(true)
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

package kubelet

import (
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// bundleSource is what a pod hears of that shows a ClusterTrustBundle, or those of a signer (name: "").
func bundleSource(name string) source { return source{"ClusterTrustBundle", "", name} }

// bundleContent is the certificates of the ClusterTrustBundles that a projection chooses, each once.
func (p *pod) bundleContent(s *corev1.ClusterTrustBundleProjection, mode *int32) (content, error) {
	chosen, err := p.kubelet.chosenBundles(s)
	if err != nil {
		return nil, err
	}
	if len(chosen) == 0 && !deref(s.Optional, false) {
		return nil, fmt.Errorf("no ClusterTrustBundle of name %q or signer %q", deref(s.Name, ""), deref(s.SignerName, ""))
	}
	var all []string
	for _, b := range chosen {
		for block, rest := pem.Decode([]byte(b.Spec.TrustBundle)); block != nil; block, rest = pem.Decode(rest) {
			all = append(all, string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})))
		}
	}
	slices.Sort(all)
	return content{s.Path: file{strings.Join(slices.Compact(all), ""), fileMode(mode, nil), -1}}, nil
}

func (k *Kubelet) chosenBundles(
	s *corev1.ClusterTrustBundleProjection,
) (chosen []*certificatesv1beta1.ClusterTrustBundle, err error) {
	if s.Name != nil {
		if b := k.bundles.Get("", *s.Name); b != nil {
			chosen = append(chosen, b)
		}
		return chosen, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector) // nil selects nothing
	if err != nil {
		return nil, err
	}
	for _, b := range k.bundles.All() {
		if b.Spec.SignerName == deref(s.SignerName, "") && selector.Matches(labels.Set(b.Labels)) {
			chosen = append(chosen, b)
		}
	}
	return chosen, nil
}

package auth

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// TestBuiltinKinds: the table has the kinds of the client library, which has all of Kubernetes'.
func TestBuiltinKinds(t *testing.T) {
	options := runtime.NewScheme() // what every group has, such as DeleteOptions
	metav1.AddToGroupVersion(options, schema.GroupVersion{Group: "any", Version: "v1"})
	groups := map[string][]string{}
	for k := range scheme.Scheme.AllKnownTypes() {
		group := cmp.Or(k.Group, coreGroup)
		if strings.HasSuffix(k.Kind, "List") || options.Recognizes(schema.GroupVersionKind{Group: "any", Version: "v1",
			Kind: k.Kind}) || options.Recognizes(schema.GroupVersionKind{Version: "v1", Kind: k.Kind}) ||
			slices.Contains(groups[k.Kind], group) {
			continue
		}
		groups[k.Kind] = append(groups[k.Kind], group)
	}
	var want strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintln(&want, kind, strings.Join(slices.Sorted(slices.Values(groups[kind])), " "))
	}
	if builtinKinds != want.String() {
		t.Errorf("the table should be\n%s", want.String())
	}
}

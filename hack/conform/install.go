package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"cardea.dev/cardea/internal/test/kubetest"
)

// installs is what docs/kubernetes.md says: the CRDs of other projects, and deploy/install.yaml. If a data plane is
// named, the class has it; the time between the steps of its edits is what the test cluster takes, which brings a
// ConfigMap to the pods at once.
func installs(ctx context.Context, cluster *kubetest.Cluster, dataplane string) error {
	const file = "deploy/install.yaml"
	if err := cluster.ApplyFiles(ctx, "deploy/third-party-crds.yaml"); err != nil {
		return err
	}
	if dataplane == "" {
		return cluster.ApplyFiles(ctx, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all := string(text)
	for _, c := range [][2]string{
		{"args: [controller]", "args: [controller, --configmap-sync=1s]"},
		{"  controllerName: cardea.dev/gateway-controller\n", "  controllerName: cardea.dev/gateway-controller\n" +
			"  parametersRef: {group: cardea.dev, kind: DataPlane, name: conformance, namespace: cardea-system}\n"},
	} {
		if strings.Count(all, c[0]) != 1 {
			return fmt.Errorf("%s has no %q", file, c[0])
		}
		all = strings.Replace(all, c[0], c[1], 1)
	}
	if err := cluster.Apply(ctx, []byte(all)); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return cluster.Apply(ctx, fmt.Appendf(nil, "apiVersion: cardea.dev/v1alpha1\nkind: DataPlane\n"+
		"metadata: {name: conformance, namespace: cardea-system}\nspec: {proxy: %s}\n", dataplane))
}

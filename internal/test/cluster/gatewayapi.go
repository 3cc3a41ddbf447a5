package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// gatewayAPIModule has the CRDs of the Gateway API in its folder config/crd.
const gatewayAPIModule = "sigs.k8s.io/gateway-api"

// InstallGatewayAPI installs the CRDs of a channel ("standard" or "experimental") of the Gateway API's release with
// which Cardea is built.
func (c *Cluster) InstallGatewayAPI(ctx context.Context, channel string) error {
	dir := filepath.Join(os.Getenv(gatewayAPIVariable), "config", "crd", channel)
	files, err := filepath.Glob(filepath.Join(dir, "gateway*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there are no CRDs in %s", dir)
	}
	if err != nil {
		return err
	}
	return c.ApplyFiles(ctx, files...)
}

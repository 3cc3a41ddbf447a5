package gateway

import (
	"crypto/sha256"
	"encoding/hex"

	"cardea.dev/cardea/internal/model"
)

// ProxyName names what is made for a Gateway's data plane: short, and the same for the same Gateway.
func ProxyName(gateway model.ObjectRef) string {
	sum := sha256.Sum256([]byte(gateway.Namespace + "/" + gateway.Name))
	return "envoy-proxy-" + hex.EncodeToString(sum[:6])
}

package envoy

import (
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// corsPolicy renders CORS.
func corsPolicy(c *model.CORS) *corsv3.CorsPolicy { return extend.CORSPolicy(*c) }

package gateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/model"
)

// readCORS reads a CORS filter.
func readCORS(f gatewayv1.HTTPCORSFilter) (*model.CORS, []problem) {
	read := &model.CORS{
		Origins: words(f.AllowOrigins), Methods: words(f.AllowMethods), Headers: words(f.AllowHeaders),
		Expose:      words(f.ExposeHeaders),
		Credentials: f.AllowCredentials != nil && *f.AllowCredentials, MaxAge: f.MaxAge,
	}
	if read.MaxAge == 0 {
		read.MaxAge = 5 // HTTPCORSFilter.maxAge
	}
	if !read.Credentials || !slices.Contains(read.Expose, "*") {
		return read, nil
	}
	read.Expose = nil // a browser would take the star for a header's name
	return read, []problem{{
		field: ".exposeHeaders", severity: model.Warning,
		message: `"*" has no meaning for browsers when credentials are allowed, so no header is exposed; list the headers`,
	}}
}

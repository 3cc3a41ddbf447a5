package extend

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// CORS answers preflight requests, and tells browsers which other origins' scripts may read the answers. In each list a
// "*" stands alone and means all.
type CORS = model.CORS

// ReadCORS reads a CORS filter; warning is what has no meaning in its field exposeHeaders.
func ReadCORS(f gatewayv1.HTTPCORSFilter) (read CORS, warning string) {
	read = CORS{
		Origins: stringsOf(f.AllowOrigins), Methods: stringsOf(f.AllowMethods), Headers: stringsOf(f.AllowHeaders),
		Expose: stringsOf(f.ExposeHeaders), Credentials: f.AllowCredentials != nil && *f.AllowCredentials, MaxAge: f.MaxAge,
	}
	if read.MaxAge == 0 {
		read.MaxAge = 5 // HTTPCORSFilter.maxAge
	}
	if !read.Credentials || !slices.Contains(read.Expose, "*") {
		return read, ""
	}
	read.Expose = nil // a browser would take the star for a header's name
	return read, `"*" has no meaning for browsers when credentials are allowed, so no header is exposed; list the headers`
}

func stringsOf[S ~string](list []S) (all []string) {
	for _, s := range list {
		all = append(all, string(s))
	}
	return all
}

package gateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/model"
)

// cors reads a CORS filter.
func (r *ruleReader) cors(field string, f gatewayv1.HTTPCORSFilter) *model.CORS {
	read := &model.CORS{
		Origins: words(f.AllowOrigins), Methods: words(f.AllowMethods), Headers: words(f.AllowHeaders),
		Expose:      words(f.ExposeHeaders),
		Credentials: f.AllowCredentials != nil && *f.AllowCredentials, MaxAge: f.MaxAge,
	}
	if read.MaxAge == 0 {
		read.MaxAge = 5 // HTTPCORSFilter.maxAge
	}
	if read.Credentials && slices.Contains(read.Expose, "*") {
		// A browser would take the star for a header's name.
		read.Expose = nil
		r.find("", "", field+".exposeHeaders",
			`"*" has no meaning for browsers when credentials are allowed, so no header is exposed; list the headers`)
		r.findings[len(r.findings)-1].Severity = model.Warning
	}
	return read
}

// words are strings of whatever type.
func words[S ~string](list []S) []string {
	if len(list) == 0 {
		return nil
	}
	read := make([]string, len(list))
	for i, s := range list {
		read[i] = string(s)
	}
	return read
}

package extauth

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

// defaultClientHeaders are the headers of a refusal that clients get if nothing is stated: what logins need.
var defaultClientHeaders = []string{"location", "set-cookie", "www-authenticate"}

// maxBodyBytes is the most of a body that a server can be sent, in bytes.
const maxBodyBytes = 1 << 30

// readServer finds whom to ask.
func (v *Value) readServer(r extend.Reader, s Spec) {
	if s.BackendRef == nil {
		r.Refuse("name the server in backendRef")
		return
	}
	key, outside, found := r.Field("backendRef").Server(*s.BackendRef, v.Server.GRPC)
	if found {
		v.Server.Backend, v.Server.External, v.Name = key, outside, key.Describe()
	}
}

func (v *Value) readHTTP(r extend.Reader, h HTTP) {
	if h.Path != "" && h.PathPrefix != "" {
		r.Refuse("path and pathPrefix are stated; state one of them")
	}
	v.Path = checkPath(r.Field("path"), h.Path)
	v.Server.Path = strings.TrimRight(checkPath(r.Field("pathPrefix"), h.PathPrefix), "/")
	v.Server.ResponseHeaders = readHeaderNames(r, "headersToBackend", h.HeadersToBackend, extend.CheckCopied)
	v.ToClient = readHeaderNames(r, "headersToClient", h.HeadersToClient, checkResponseHeader)
	if h.HeadersToClient == nil {
		v.ToClient = defaultClientHeaders
	}
	v.OnAllow = readHeaderNames(r, "headersToClientOnAllow", h.HeadersToClientOnAllow, checkResponseHeader)
}

// checkPath checks the path of a request; "" is none.
func checkPath(r extend.Reader, p string) string {
	switch {
	case p == "":
	case !strings.HasPrefix(p, "/"):
		r.Refuse(fmt.Sprintf("%q does not start with a slash, as all paths do; write /%s", p, p))
	case strings.ContainsFunc(p, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }):
		r.Refuse("it has a space, a # or another character that a path can't have; write it as %20, %23, ...")
	}
	return p
}

func (v *Value) readBody(r extend.Reader, b *Body) {
	if b == nil {
		return
	}
	size, err := extend.Size(b.MaxSize)
	switch {
	case err != nil:
		r.Field("body.maxSize").Refuse(err.Error())
	case size == 0:
		r.Field("body.maxSize").Refuse("no body would be sent to the server; write 1 at least, or leave body out")
	case size > maxBodyBytes:
		r.Field("body.maxSize").Refuse("it is more than a proxy may keep in memory; write 1Gi at most")
	case r.Location().GRPC:
		r.Field("body").Refuse(fmt.Sprintf("rule %s of %s: a gRPC call may be a stream without an end, so its body can't "+
			"be sent to the server; for the GRPCRoute, state extAuth without body, or disable it",
			r.Location().Section, r.Location().Object))
	}
	v.Server.MaxBody = int32(min(size, maxBodyBytes))
	v.Partial = b.AllowPartial != nil && *b.AllowPartial
}

// checkConditions checks about which requests the server is asked.
func (v *Value) checkConditions(r extend.Reader) {
	if len(v.When) == 0 {
		return
	}
	known := extend.ReadIdentities(r)
	v.Providers = known.Providers
	for i, m := range v.When {
		field := fmt.Sprintf("when[%d]", i)
		extend.Refuse(r, field, extend.ValidateMatch(m))
		known.CheckMatch(r.Field(field), m)
	}
}

// readHeaderNames reads names of headers, in small letters.
func readHeaderNames(r extend.Reader, field string, list []string, check func(string) string) (all []string) {
	for i, name := range list {
		if why := check(name); why != "" {
			r.Field(fmt.Sprintf("%s[%d]", field, i)).Refuse(fmt.Sprintf("%q: %s", name, why))
		}
		all = append(all, strings.ToLower(name))
	}
	return all
}

// checkName tells why something is not the name of a header that requests have.
func checkName(name string) string {
	if strings.HasPrefix(name, ":") || strings.ContainsAny(name, " \t\r\n") {
		return "it is not the name of a header"
	}
	return ""
}

// checkResponseHeader tells why a header of the server's answer can't stand in the answer to a client.
func checkResponseHeader(name string) string { return extend.CheckSetHeader(name) }

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{
		Timeout: extend.AuthTimeout, PassOnFailure: s.OnFailure == Allow, StatusOnFailure: http.StatusForbidden,
		Context: s.Context, When: s.When,
	}
	if s.Mode == Shadow {
		v.Shadow = extend.ShadowPrefix(r.Owner(), "extAuth")
	}
	v.Server.GRPC = s.GRPC != nil
	if (s.GRPC == nil) == (s.HTTP == nil) {
		r.Refuse("state how the server is asked: one of grpc: {} and http: {}")
	}
	v.readServer(r, s)
	v.Server.RequestHeaders = readHeaderNames(r, "headers", s.Headers, checkName)
	if s.HTTP != nil {
		v.readHTTP(r.Field("http"), *s.HTTP)
	}
	if s.Timeout != nil {
		t, err := extend.Duration(*s.Timeout)
		switch {
		case err != nil:
			r.Field("timeout").Refuse(err.Error())
		case t <= 0:
			r.Field("timeout").Refuse("requests would wait for ever if the server does not answer; write 1ms at least")
		}
		v.Timeout = t
	}
	v.readBody(r, s.Body)
	v.readFailureStatus(r, s)
	for _, name := range slices.Sorted(maps.Keys(s.Context)) {
		at := r.Field("context")
		switch why := extend.CheckSetHeader(name); {
		case name == "":
			at.Refuse("it has an empty name")
		case s.HTTP != nil && why != "":
			at.Refuse(fmt.Sprintf("%s can't be sent as a header to an HTTP server: %s", name, why))
		case s.HTTP != nil && strings.ContainsAny(string(s.Context[name]), "\r\n\x00"):
			at.Refuse(fmt.Sprintf("the value of %s has a line break or a NUL, which a header can't have", name))
		}
	}
	v.checkConditions(r)
	return v
}

package extauth

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"cardea.dev/cardea/extend"
)

// toClient are the headers of a refusal that clients get if nothing is stated: what logins need.
var toClient = []string{"location", "set-cookie", "www-authenticate"}

// maxBody is the most of a body that a server can be sent, in bytes.
const maxBody = 1 << 30

func read(r extend.Reader, s Spec) Value {
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
	v.server(r, s)
	v.Server.RequestHeaders = names(r, "headers", s.Headers, checkName)
	if s.HTTP != nil {
		v.http(r.Field("http"), *s.HTTP)
	}
	if s.Timeout != nil {
		t, err := extend.Duration(*s.Timeout)
		switch {
		case err != nil:
			r.Field("timeout").Refuse(err.Error())
		case t <= 0:
			r.Field("timeout").Refuse("a server that never answers would hold requests for ever; write 1ms at least")
		}
		v.Timeout = t
	}
	v.body(r, s.Body)
	v.failure(r, s)
	for _, name := range slices.Sorted(maps.Keys(s.Context)) {
		at := r.Field("context")
		switch why := extend.CheckSetHeader(name); {
		case name == "":
			at.Refuse("it has an empty name")
		case s.HTTP != nil && why != "":
			at.Refuse(fmt.Sprintf("%s can't be a header, as it is for a server of HTTP: %s", name, why))
		case s.HTTP != nil && strings.ContainsAny(string(s.Context[name]), "\r\n\x00"):
			at.Refuse(fmt.Sprintf("the value of %s has a line break or a NUL in it, which no header can have", name))
		}
	}
	v.when(r)
	return v
}

// server finds whom to ask.
func (v *Value) server(r extend.Reader, s Spec) {
	if s.BackendRef == nil {
		r.Refuse("name the server in backendRef")
		return
	}
	key, outside, found := r.Field("backendRef").Server(*s.BackendRef, v.Server.GRPC)
	if found {
		v.Server.Backend, v.Server.External, v.Name = key, outside, key.Words()
	}
}

func (v *Value) http(r extend.Reader, h HTTP) {
	if h.Path != "" && h.PathPrefix != "" {
		r.Refuse("path and pathPrefix are stated; state one of them")
	}
	v.Path = path(r.Field("path"), h.Path)
	v.Server.Path = strings.TrimRight(path(r.Field("pathPrefix"), h.PathPrefix), "/")
	v.Server.ResponseHeaders = names(r, "headersToBackend", h.HeadersToBackend, extend.CheckCopied)
	v.ToClient = names(r, "headersToClient", h.HeadersToClient, checkAnswered)
	if h.HeadersToClient == nil {
		v.ToClient = toClient
	}
	v.OnAllow = names(r, "headersToClientOnAllow", h.HeadersToClientOnAllow, checkAnswered)
}

// path checks the path of a request; "" is none.
func path(r extend.Reader, p string) string {
	switch {
	case p == "":
	case !strings.HasPrefix(p, "/"):
		r.Refuse(fmt.Sprintf("%q does not start with a slash, as all paths do; write /%s", p, p))
	case strings.ContainsFunc(p, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }):
		r.Refuse("it has a space, a # or another character in it that no path can have; write it as %20, %23, ...")
	}
	return p
}

func (v *Value) body(r extend.Reader, b *Body) {
	if b == nil {
		return
	}
	size, err := extend.Size(b.MaxSize)
	switch {
	case err != nil:
		r.Field("body.maxSize").Refuse(err.Error())
	case size == 0:
		r.Field("body.maxSize").Refuse("nothing would go to the server; write 1 at least, or leave body out")
	case size > maxBody:
		r.Field("body.maxSize").Refuse("it is more than a proxy should keep; write 1Gi at most")
	case r.Where().GRPC:
		r.Field("body").Refuse(fmt.Sprintf("rule %s of %s: the messages of a call may never end, so no server can be sent "+
			"them; state extAuth without body, or disable it, for the GRPCRoute", r.Where().Section, r.Where().Object))
	}
	v.Server.MaxBody = int32(min(size, maxBody))
	v.Partial = b.AllowPartial != nil && *b.AllowPartial
}

// failure reads what becomes of requests while the server can't be asked.
func (v *Value) failure(r extend.Reader, s Spec) {
	if s.StatusOnFailure == nil {
		return
	}
	at := r.Field("statusOnFailure")
	status := *s.StatusOnFailure
	switch _, known := typev3.StatusCode_name[status]; {
	case !known || status < 400:
		at.Refuse(fmt.Sprintf("Envoy answers no %d; write 403, 401, 429, 500, 502, 503 or 504", status))
	case v.PassOnFailure:
		at.Warn("it has no effect: onFailure is Allow, so nothing is denied on failure")
	}
	v.StatusOnFailure = int(status)
}

// when checks about which requests the server is asked.
func (v *Value) when(r extend.Reader) {
	if len(v.When) == 0 {
		return
	}
	known := extend.ReadIdentities(r)
	v.Providers = known.Providers
	for i, m := range v.When {
		field := fmt.Sprintf("when[%d]", i)
		extend.Refuse(r, field, extend.Validate(m))
		known.Check(r.Field(field), m)
	}
}

// names reads names of headers, in small letters.
func names(r extend.Reader, field string, list []string, check func(string) string) (all []string) {
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

// checkAnswered tells why a header of the server's answer can't stand in the answer to a client.
func checkAnswered(name string) string { return extend.CheckSetHeader(name) }

package extend

import (
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// UncopiedHeaders are headers of an authorization server's answer that belong to that answer alone. The Gateway API
// names Host; the others would break the request that is sent on.
var UncopiedHeaders = slices.Concat(model.FramingHeaders, []string{
	":status", "authority", "content-encoding", "content-type", "date", "host", "server", "te", "trailer",
})

// steeringPrefix is how names of headers begin that tell a data plane what to do. It is Envoy's; the headers are
// refused whatever serves a Gateway, since a policy may count at several ones.
const steeringPrefix = "x-envoy"

// AuthTimeout is how long an authorization server has to answer.
const AuthTimeout = 10 * time.Second

// ExternalAuth is an authorization server, and what it is asked.
type ExternalAuth = model.ExternalAuth

// CheckCopied tells why a header of an authorization server's answer can't be copied into the request; "" if it can.
func CheckCopied(name string) string {
	switch name = strings.ToLower(name); {
	case strings.HasPrefix(name, steeringPrefix):
		return "an authorization server can't set " + name + ": headers that begin with " + steeringPrefix +
			" control the proxy"
	case name == model.LoopHeader || slices.Contains(UncopiedHeaders, name):
		return "an authorization server can't set " + name + ": it controls how the message is sent and to which host"
	case !isToken(name):
		return "it is not the name of a header"
	}
	return ""
}

// CheckSteering tells why a header can't be copied that steers the proxy; "" for others.
func CheckSteering(name string) string {
	if strings.HasPrefix(name, steeringPrefix) {
		return CheckCopied(name)
	}
	return ""
}

// AttestedHeaders are headers of a request that only the authorization server may set (x-user): those of clients are
// taken off, or a client's value would reach the backend where the server sets none. Headers that the server is shown
// stay. None: the server may answer with any header, or says itself which are removed (gRPC).
func AttestedHeaders(a ExternalAuth) (names []string) {
	for _, name := range a.ResponseHeaders {
		if name != "authorization" && !slices.Contains(a.RequestHeaders, name) {
			names = append(names, name)
		}
	}
	return names
}

package extend

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// IdentityHeaders are headers in which backends are told who sent a request, or what was found out about it; in small
// letters. A rule is chosen before anybody knows, by what the client sent: so none can match on one of them.
type IdentityHeaders struct {
	// Only are those that nobody else may set: what clients send in them is taken off before any filter reads them. This
	// holds at all levels below, also where the feature is turned off: no client fools a backend that reads them.
	Only []string
	// Also are those that clients may send, too. They have another value later.
	Also []string
}

// AllHeaders are both.
func (h IdentityHeaders) AllHeaders() []string { return slices.Concat(h.Only, h.Also) }

// ReadOf is one of some headers that is among those that something reads, or may be; "" if none is.
func ReadOf(reads, headers []string) string {
	for _, name := range headers {
		if slices.Contains(reads, name) || slices.Contains(reads, AnyHeader) {
			return name
		}
	}
	return ""
}

// AnyHeader stands for all headers in what a feature reads.
const AnyHeader = "*"

// AttestedBy are the headers that an authorization server sets. Credentials are not among them: what a client sends is
// its own there, whatever the server makes of it.
func AttestedBy(a ExternalAuth) IdentityHeaders {
	h := IdentityHeaders{Only: AttestedHeaders(a)}
	for _, name := range a.ResponseHeaders {
		if !slices.Contains(h.Only, name) && name != "authorization" {
			h.Also = append(h.Also, name)
		}
	}
	return h
}

// requiredHeaders are headers without which a request could not be read, and what becomes of it without them.
var requiredHeaders = map[string]string{
	"authorization": "has the credentials that methods look for", "proxy-authorization": "has credentials",
	"cookie": "has all cookies of the client", "origin": "is what CORS compares",
	"content-type": "says how the body is read", "content-encoding": "says how the body is read",
}

// reservedPrefixes has the prefixes of the names of the proxy's own headers, with what those do.
var reservedPrefixes = map[string]string{
	steeringPrefix: "control the proxy", "x-cardea": "are for the proxy itself", "x-forwarded-": "describe the connection",
	model.DestinationHeader: "choose an endpoint", "access-control-": "are for CORS",
}

// CheckIdentityHeader tells why a header can't have what authentication found; "" if it can. It is taken off what
// clients send.
func CheckIdentityHeader(name string) string {
	name = strings.ToLower(name)
	if why := requiredHeaders[name]; why != "" {
		return fmt.Sprintf("header %s can't identify the client, because it %s, and a value from the client would be "+
			"removed; name your own header, such as x-user", name, why)
	}
	for begin, why := range reservedPrefixes {
		if strings.HasPrefix(name, begin) {
			return fmt.Sprintf("header %s can't identify the client: headers that begin with %s %s; name your own header, "+
				"such as x-user", name, begin, why)
		}
	}
	return CheckSetHeader(name)
}

// CheckSetHeader tells why a header can't be set; "" if it can.
func CheckSetHeader(name string) string {
	set := HeaderEdits{Set: []HeaderEdit{{Name: name, Value: new("")}}}
	if problems := ValidateHeaders(set); len(problems) > 0 {
		return problems[0].Message
	}
	return ""
}

// SecretName is a Secret as its policy names it.
func SecretName(ref gatewayv1.SecretObjectReference) string {
	if ref.Namespace != nil {
		return string(*ref.Namespace) + "/" + string(ref.Name)
	}
	return string(ref.Name)
}

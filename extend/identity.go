package extend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	setmetadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// userHeader has the name of the user where no header is stated for it. It gets no further than UserFilter.
const userHeader = "x-cardea-user"

// UserHeader is the header in which an authenticating filter has to put the name of the user: the one that is stated,
// in small letters, or one that no backend gets.
func UserHeader(stated string) string {
	if stated == "" {
		return userHeader
	}
	return stated
}

// UserFilter is a filter that tells later ones the name of the user, which stands in UserHeader(stated).
func UserFilter(stated string) *metadatav3.Config {
	return &metadatav3.Config{RequestRules: []*metadatav3.Config_Rule{{
		Header: UserHeader(stated), Remove: stated == "",
		OnHeaderPresent: &metadatav3.Config_KeyValuePair{MetadataNamespace: UserMetadata, Key: UserKey},
	}}}
}

// IdentityHeaders are headers in which backends are told who sent a request, or what was found out about it; in small
// letters. A rule is chosen before anybody knows, by what the client sent: so none can match on one of them.
type IdentityHeaders struct {
	// Only are those that nobody else may set: what clients send in them is taken off before any filter reads them. This
	// holds at all levels below, also where the feature is turned off: no client fools a backend that reads them.
	Only []string
	// Also are those that clients may send, too. They have another value later.
	Also []string
}

// All are both.
func (h IdentityHeaders) All() []string { return slices.Concat(h.Only, h.Also) }

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
	h := IdentityHeaders{Only: Attested(a)}
	for _, name := range a.ResponseHeaders {
		if !slices.Contains(h.Only, name) && name != "authorization" {
			h.Also = append(h.Also, name)
		}
	}
	return h
}

// kept are headers without which a request could not be read, and what becomes of it without them.
var kept = map[string]string{
	"authorization": "has the credentials that methods look for", "proxy-authorization": "has credentials",
	"cookie": "has the cookies of all who set some", "origin": "is what CORS compares",
	"content-type": "says how the body is read", "content-encoding": "says how the body is read",
}

// owned has the prefixes of the names of the proxy's own headers, with what those do.
var owned = map[string]string{
	steering: "steer the proxy", "x-cardea": "are for the proxy itself", "x-forwarded-": "tell of the connection",
	model.DestinationHeader: "choose an endpoint", "access-control-": "are for CORS",
}

// CheckIdentityHeader tells why a header can't have what authentication found; "" if it can. It is taken off what
// clients send.
func CheckIdentityHeader(name string) string {
	name = strings.ToLower(name)
	if why := kept[name]; why != "" {
		return fmt.Sprintf("header %s can't tell who sent a request: what clients send in it would be taken off, and it %s; "+
			"name one of your own, such as x-user", name, why)
	}
	for begin, why := range owned {
		if strings.HasPrefix(name, begin) {
			return fmt.Sprintf("header %s can't tell who sent a request: headers that begin with %s %s; name one of your own, "+
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

// providersMetadata is the namespace that has the names of providers, by number, if their tokens are accepted: so
// features of other kinds find claims without knowing their providers.
const providersMetadata = "cardea.dev/providers"

// maxProviders is how many of them are looked through.
const maxProviders = 16

// ProvidersFilter is a filter that tells later ones which providers' tokens are accepted.
func ProvidersFilter(names []string) *setmetadatav3.Config {
	fields := map[string]*structpb.Value{}
	for i, name := range names {
		fields[strconv.Itoa(i)] = structpb.NewStringValue(name)
	}
	return &setmetadatav3.Config{Metadata: []*setmetadatav3.Metadata{{
		MetadataNamespace: providersMetadata, Value: &structpb.Struct{Fields: fields},
	}}}
}

// ClaimExpression is an expression of CEL for a claim of the accepted token, whoever issued it, by the names that lead
// to it; it fails if there is none.
func ClaimExpression(path []string) string {
	names := fmt.Sprintf("metadata.filter_metadata['%s']", providersMetadata)
	claims := fmt.Sprintf("metadata.filter_metadata['%s']", ClaimsMetadata)
	var below strings.Builder
	for _, name := range path {
		fmt.Fprintf(&below, "['%s']", strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name))
	}
	var expr strings.Builder
	for i := range maxProviders {
		name := fmt.Sprintf("%s['%d']", names, i)
		if i < maxProviders-1 {
			fmt.Fprintf(&expr, "%s in %s ? ", name, claims)
		}
		fmt.Fprintf(&expr, "%s[%s]%s", claims, name, below.String())
		if i < maxProviders-1 {
			expr.WriteString(" : ")
		}
	}
	return expr.String()
}

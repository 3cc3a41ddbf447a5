package extend

import (
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
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

// CheckIdentityHeader tells why a header can't have what authentication found; "" if it can.
func CheckIdentityHeader(name string) string {
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

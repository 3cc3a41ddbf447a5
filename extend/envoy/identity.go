package envoy

import (
	"fmt"
	"strconv"
	"strings"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	setmetadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/structpb"
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

// HasMetadata takes requests that filters have found something about: there is metadata of a namespace, below a key.
func HasMetadata(namespace, key string) *rbacv3.Principal {
	return MetadataPrincipal(namespace, []string{key}, &matcherv3.ValueMatcher{
		MatchPattern: &matcherv3.ValueMatcher_PresentMatch{PresentMatch: true},
	})
}

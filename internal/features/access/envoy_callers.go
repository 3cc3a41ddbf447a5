package access

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	filterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	sslv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/matching/common_inputs/ssl/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// callerMatcher are those that the rules of a level name by their whole IDs. Those of the same rules are one class. A
// filter finds the class of a caller in a map, whatever their number, and the rules ask for classes.
//
// A certificate with several URIs has no class and no ID.
type callerMatcher struct {
	level       string
	needsSPIFFE bool                // some rule asks for an ID
	classes     map[string][]string // that rules name, by the names of the rules
	byID        map[string]string   // the class of an ID

	providers []string // of tokens
}

func newCallerMatcher(l Level, providers []string) callerMatcher {
	c := callerMatcher{level: l.Name, providers: providers, classes: map[string][]string{}, byID: map[string]string{}}
	rules := map[string][]string{} // that name an ID
	for _, p := range l.Policies {
		for _, r := range p.Rules {
			for _, s := range r.Sources {
				if s.SPIFFE == nil {
					continue
				}
				c.needsSPIFFE = true
				name := ruleName(p, r)
				if id := s.SPIFFE.Value; s.SPIFFE.isExact() && !slices.Contains(rules[id], name) {
					rules[id] = append(rules[id], name)
				}
			}
		}
	}
	names := map[string]string{} // of classes, by their rules
	for _, id := range slices.Sorted(maps.Keys(rules)) {
		key := strings.Join(rules[id], " ")
		if names[key] == "" {
			names[key] = fmt.Sprintf("class-%d", len(names))
			for _, rule := range rules[id] {
				c.classes[rule] = append(c.classes[rule], names[key])
			}
		}
		c.byID[id] = names[key]
	}
	return c
}

func (m TextMatch) isExact() bool { return cmp.Or(m.Type, Exact) == Exact }

// singleClass is the class of a caller that no rule names by its whole ID.
const singleClass = "single"

// classFilter says the class of a caller; nil: nobody asks for it.
func (c callerMatcher) classFilter() *filterv3.RBAC {
	if !c.needsSPIFFE {
		return nil
	}
	san := &xdscorev3.TypedExtensionConfig{Name: "uri-san", TypedConfig: packAny(&sslv3.UriSanInput{})}
	is := func(class string) *xdsmatcherv3.Matcher_OnMatch {
		return &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Action{
			Action: &xdscorev3.TypedExtensionConfig{
				Name: "class", TypedConfig: packAny(&rbacv3.Action{Name: class, Action: rbacv3.RBAC_ALLOW}),
			},
		}}
	}
	// Several URIs come with commas between them.
	other := &xdsmatcherv3.Matcher{MatcherType: &xdsmatcherv3.Matcher_MatcherList_{
		MatcherList: &xdsmatcherv3.Matcher_MatcherList{Matchers: []*xdsmatcherv3.Matcher_MatcherList_FieldMatcher{{
			Predicate: &xdsmatcherv3.Matcher_MatcherList_Predicate{
				MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{
					SinglePredicate: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate{
						Input: san,
						Matcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_ValueMatch{
							ValueMatch: &xdsmatcherv3.StringMatcher{MatchPattern: &xdsmatcherv3.StringMatcher_SafeRegex{
								SafeRegex: &xdsmatcherv3.RegexMatcher{
									EngineType: &xdsmatcherv3.RegexMatcher_GoogleRe2{GoogleRe2: &xdsmatcherv3.RegexMatcher_GoogleRE2{}},
									Regex:      "[^,]+",
								},
							}},
						},
					},
				},
			},
			OnMatch: is(singleClass),
		}}},
	}}
	m := other
	if len(c.byID) > 0 {
		ids := map[string]*xdsmatcherv3.Matcher_OnMatch{}
		for id, class := range c.byID {
			ids[id] = is(class)
		}
		m = &xdsmatcherv3.Matcher{
			MatcherType: &xdsmatcherv3.Matcher_MatcherTree_{MatcherTree: &xdsmatcherv3.Matcher_MatcherTree{
				Input: san, TreeType: &xdsmatcherv3.Matcher_MatcherTree_ExactMatchMap{
					ExactMatchMap: &xdsmatcherv3.Matcher_MatcherTree_MatchMap{Map: ids},
				},
			}},
			OnNoMatch: &xdsmatcherv3.Matcher_OnMatch{OnMatch: &xdsmatcherv3.Matcher_OnMatch_Matcher{Matcher: other}},
		}
	}
	return &filterv3.RBAC{ShadowMatcher: m, ShadowRulesStatPrefix: c.statPrefix()}
}

func (c callerMatcher) statPrefix() string { return "access_" + c.level + "_caller_" }

// classMetadataKey is where the filter writes the class of a caller. The class counts only if the caller's certificate
// is valid.
func (c callerMatcher) classMetadataKey() (namespace, key string) {
	return rbacNamespace, c.statPrefix() + "shadow_effective_policy_id"
}

// rulePrincipal takes the callers of a rule.
func (c callerMatcher) rulePrincipal(p Policy, r Rule) *rbacv3.Principal {
	if len(r.Sources) == 0 {
		return envoy.AllOf(nil)
	}
	namespace, key := c.classMetadataKey()
	var any []*rbacv3.Principal
	for _, class := range c.classes[ruleName(p, r)] {
		any = append(any, envoy.MetadataPrincipal(namespace, []string{key}, textValueMatcher(exactMatcher(class))))
	}
	if len(any) > 0 { // the certificate must be valid by the listener's authorities; this comes last since it takes time
		any = []*rbacv3.Principal{envoy.AllOf([]*rbacv3.Principal{envoy.OneOf(any), trustedPrincipal()})}
	}
	for _, s := range r.Sources {
		if s.JWT != nil {
			any = append(any, c.tokenPrincipal(*s.JWT))
		}
		if s.SPIFFE == nil || s.SPIFFE.isExact() {
			continue
		}
		id := uriPrincipal(extend.RegularExpression, s.SPIFFE.toRegex())
		if s.SPIFFE.Type == Prefix {
			id = uriPrincipal(extend.Prefix, s.SPIFFE.Value)
		}
		any = append(any, envoy.AllOf([]*rbacv3.Principal{envoy.HasMetadata(namespace, key), id}))
	}
	return envoy.OneOf(any)
}

// tokenPrincipal takes callers with an accepted token.
func (c callerMatcher) tokenPrincipal(j JWT) *rbacv3.Principal {
	m := extend.RequestMatch{RequestParts: extend.RequestParts{Claims: j.claimMatches()}}
	return envoy.MatchPolicy(m, c.providers...).GetPrincipals()[0]
}

// claimMatches is what it states.
func (j JWT) claimMatches() (list []extend.ClaimMatch) {
	for _, c := range []struct{ name, value string }{{"iss", j.Issuer}, {"aud", j.Audience}, {"sub", j.Subject}} {
		if c.value != "" {
			list = append(list, extend.ClaimMatch{Claim: c.name, Type: extend.Exact, Values: []string{c.value}})
		}
	}
	for _, c := range j.Claims {
		list = append(list, extend.ClaimMatch{Claim: c.Name, Type: extend.Exact, Values: c.Values})
	}
	return list
}

// trustedPrincipal takes callers with a valid certificate that has an ID.
func trustedPrincipal() *rbacv3.Principal { return uriPrincipal(extend.Prefix, spiffeScheme) }

// uriPrincipal takes callers with a valid certificate that has such a URI.
func uriPrincipal(t extend.TextMatchType, value string) *rbacv3.Principal {
	return envoy.CertificatePrincipal(extend.CertificateMatch{URI: value, Type: t})
}

func packAny(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err)
	}
	return a
}

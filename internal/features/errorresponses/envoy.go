package errorresponses

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	xdsv3 "github.com/cncf/xds/go/xds/core/v3"
	xdsmatcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	customresponsev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/custom_response/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	localresponsev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/custom_response/local_response_policy/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

type (
	predicate = xdsmatcherv3.Matcher_MatcherList_Predicate
	single    = xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate
	matcher   = xdsmatcherv3.StringMatcher
)

func renderRule(e envoy.Rule, v Value) {
	list := &xdsmatcherv3.Matcher_MatcherList{}
	for _, c := range orderChoices(v.Pages) {
		list.Matchers = append(list.Matchers, &xdsmatcherv3.Matcher_MatcherList_FieldMatcher{
			Predicate: c.buildPredicate(),
			OnMatch: &xdsmatcherv3.Matcher_OnMatch{
				OnMatch: &xdsmatcherv3.Matcher_OnMatch_Action{Action: typedExtension("page", c.responsePolicy())},
			},
		})
	}
	e.Filter(extend.SlotErrors, "errorResponses", &customresponsev3.CustomResponse{
		CustomResponseMatcher: &xdsmatcherv3.Matcher{
			MatcherType: &xdsmatcherv3.Matcher_MatcherList_{MatcherList: list},
		},
	})
	// Answers pass the filters from the last to the first: it sees the error before the page replaces it.
	e.Filter(extend.SlotErrors, "errorResponses-headers", keptHeadersFilter())
	e.Filter(extend.SlotErrors, "errorResponses-details", detailsFilter())
}

// pageChoice is a page with some of its codes.
type pageChoice struct {
	page
	ofClass bool // of the codes
}

// orderChoices are the pages as Envoy looks at them: the first that fits counts.
func orderChoices(pages []page) (list []pageChoice) {
	for _, p := range pages {
		for _, class := range []bool{false, true} {
			c := pageChoice{p, class}
			c.Codes = slices.DeleteFunc(slices.Clone(p.Codes), func(code string) bool { return isClass(code) != class })
			if len(c.Codes) > 0 {
				list = append(list, c)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b pageChoice) int {
		if a.ofClass != b.ofClass {
			return map[bool]int{false: -1, true: 1}[a.ofClass]
		}
		return cmp.Or(cmp.Compare(b.countConditions(), a.countConditions()), strings.Compare(a.Name, b.Name))
	})
	return list
}

func isClass(code string) bool { return strings.HasSuffix(code, "xx") }

// buildPredicate tells which answers a page replaces. Those to gRPC calls stay as they are: their status is in the
// trailers, or in headers that say so.
func (c pageChoice) buildPredicate() *predicate {
	var status proto.Message = &matcherv3.HttpResponseStatusCodeMatchInput{}
	if c.ofClass {
		status = &matcherv3.HttpResponseStatusCodeClassMatchInput{}
	}
	var codes []*predicate
	for _, code := range c.Codes {
		codes = append(codes, comparePredicate(status, exactMatcher(code)))
	}
	grpc := comparePredicate(requestHeader("content-type"), &matcher{
		MatchPattern: &xdsmatcherv3.StringMatcher_Prefix{Prefix: "application/grpc"},
	})
	all := []*predicate{
		oneOf(codes), {MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_NotMatcher{NotMatcher: grpc}},
	}
	if c.From != Any {
		local := map[Origin]string{Proxy: "true", Backend: "false"}[c.From]
		all = append(all, comparePredicate(&matcherv3.HttpResponseLocalReplyMatchInput{}, exactMatcher(local)))
	}
	for _, h := range c.Headers {
		all = append(all, headerPredicate(h))
	}
	if len(c.Accept) > 0 {
		all = append(all, comparePredicate(requestHeader("accept"), regexMatcher(acceptExpression(c.Accept))))
	}
	return allOf(all)
}

// acceptExpression matches all of an Accept header that names one of some types.
func acceptExpression(types []string) string {
	var names []string
	for _, t := range types {
		names = append(names, regexp.QuoteMeta(t))
	}
	return `(?i)(?:.*,)?\s*(?:` + strings.Join(names, "|") + `)\s*(?:[;,].*)?`
}

func headerPredicate(h extend.NamedMatch) *predicate {
	input := &matcherv3.HttpResponseHeaderMatchInput{HeaderName: strings.ToLower(h.Name)}
	if h.Type == extend.Present {
		return comparePredicate(input, regexMatcher(`(?s).*`))
	}
	var values []*predicate
	for _, v := range h.Values {
		text := envoy.Text(extend.StringMatch{Type: extend.TextMatchType(h.Type), Value: v, IgnoreCase: h.IgnoreCase})
		values = append(values, comparePredicate(input, asXDS(text)))
	}
	return oneOf(values)
}

// asXDS is a matcher as the unified matcher API has it.
func asXDS(m *matcherv3.StringMatcher) *matcher {
	if m.GetSafeRegex() != nil {
		return regexMatcher(m.GetSafeRegex().GetRegex())
	}
	x := &matcher{IgnoreCase: m.GetIgnoreCase()}
	switch p := m.GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		x.MatchPattern = &xdsmatcherv3.StringMatcher_Exact{Exact: p.Exact}
	case *matcherv3.StringMatcher_Prefix:
		x.MatchPattern = &xdsmatcherv3.StringMatcher_Prefix{Prefix: p.Prefix}
	case *matcherv3.StringMatcher_Suffix:
		x.MatchPattern = &xdsmatcherv3.StringMatcher_Suffix{Suffix: p.Suffix}
	case *matcherv3.StringMatcher_Contains:
		x.MatchPattern = &xdsmatcherv3.StringMatcher_Contains{Contains: p.Contains}
	}
	return x
}

func exactMatcher(text string) *matcher {
	return &matcher{MatchPattern: &xdsmatcherv3.StringMatcher_Exact{Exact: text}}
}

func regexMatcher(regex string) *matcher {
	return &matcher{MatchPattern: &xdsmatcherv3.StringMatcher_SafeRegex{SafeRegex: &xdsmatcherv3.RegexMatcher{
		EngineType: &xdsmatcherv3.RegexMatcher_GoogleRe2{GoogleRe2: &xdsmatcherv3.RegexMatcher_GoogleRE2{}}, Regex: regex,
	}}}
}

func requestHeader(name string) proto.Message {
	return &matcherv3.HttpRequestHeaderMatchInput{HeaderName: name}
}

func comparePredicate(input proto.Message, with *matcher) *predicate {
	return &predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_{SinglePredicate: &single{
		Input:   typedExtension("input", input),
		Matcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_SinglePredicate_ValueMatch{ValueMatch: with},
	}}}
}

func oneOf(list []*predicate) *predicate {
	if len(list) == 1 {
		return list[0]
	}
	return &predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_OrMatcher{
		OrMatcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_PredicateList{Predicate: list},
	}}
}

func allOf(list []*predicate) *predicate {
	return &predicate{MatchType: &xdsmatcherv3.Matcher_MatcherList_Predicate_AndMatcher{
		AndMatcher: &xdsmatcherv3.Matcher_MatcherList_Predicate_PredicateList{Predicate: list},
	}}
}

// keptHeaders are headers of the error that the page has, too, which else has none of them: what clients act upon.
var keptHeaders = []string{
	"www-authenticate", "retry-after", "allow", "access-control-allow-origin", "access-control-allow-credentials",
	"access-control-expose-headers", "vary",
}

// namespace is where the kept headers are until the page is made, which knows nothing of the error's headers.
const namespace = envoy.ErrorMetadata

func keptHeadersFilter() *metadatav3.Config {
	config := &metadatav3.Config{}
	for _, name := range keptHeaders {
		config.ResponseRules = append(config.ResponseRules, &metadatav3.Config_Rule{
			Header: name, OnHeaderPresent: &metadatav3.Config_KeyValuePair{MetadataNamespace: namespace, Key: name},
		})
	}
	config.ResponseRules = append(config.ResponseRules, &metadatav3.Config_Rule{
		Header: detailsHeader, Remove: true,
		OnHeaderPresent: &metadatav3.Config_KeyValuePair{MetadataNamespace: namespace, Key: envoy.ErrorDetails},
	})
	return config
}

// detailsHeader has why the answer was made, between two filters.
const detailsHeader = "x-cardea-details"

// pageDetails is why Envoy says that a page was made. Told to keep what it said before, Envoy 1.40 reads memory that it
// has freed.
const pageDetails = envoy.ErrorPageDetails

// detailsFilter writes why the answer was made, which Envoy forgets once a page replaces it.
func detailsFilter() *headermutationv3.HeaderMutation {
	return &headermutationv3.HeaderMutation{Mutations: &headermutationv3.Mutations{
		ResponseMutations: []*mutationv3.HeaderMutation{{Action: &mutationv3.HeaderMutation_Append{
			Append: &corev3.HeaderValueOption{
				Header:       &corev3.HeaderValue{Key: detailsHeader, Value: "%RESPONSE_CODE_DETAILS%"},
				AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			},
		}}},
	}}
}

// responsePolicy is what is answered.
func (p page) responsePolicy() *localresponsev3.LocalResponsePolicy {
	policy := &localresponsev3.LocalResponsePolicy{
		Body: &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(p.Body)}},
		ResponseCodeDetailsAction: &localresponsev3.LocalResponsePolicy_ResponseCodeDetails{
			ResponseCodeDetails: pageDetails,
		},
	}
	if p.Status != 0 {
		policy.StatusCode = wrapperspb.UInt32(p.Status)
	}
	set := func(name, format string, action corev3.HeaderValueOption_HeaderAppendAction) {
		policy.ResponseHeadersToAdd = append(policy.ResponseHeadersToAdd, &corev3.HeaderValueOption{
			Header: &corev3.HeaderValue{Key: name, Value: format}, AppendAction: action,
		})
	}
	for _, name := range keptHeaders {
		set(name, "%DYNAMIC_METADATA("+namespace+":"+name+")%", corev3.HeaderValueOption_ADD_IF_ABSENT)
	}
	if p.ContentType != "" {
		set("content-type", escapeFormat(p.ContentType), corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD)
	}
	if p.Location != "" {
		set("location", escapeFormat(p.Location), corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD)
	}
	return policy
}

// escapeFormat escapes what Envoy would read as a command.
func escapeFormat(text string) string { return strings.ReplaceAll(text, "%", "%%") }

func typedExtension(name string, m proto.Message) *xdsv3.TypedExtensionConfig {
	config := new(anypb.Any)
	if err := anypb.MarshalFrom(config, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err) // what was made here
	}
	return &xdsv3.TypedExtensionConfig{Name: name, TypedConfig: config}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})

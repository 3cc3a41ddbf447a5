package ratelimits

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	headertometadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// descriptorShape is what limits have in common that have descriptors with the same keys.
type descriptorShape struct {
	Per      []extend.RequestDimension
	Together bool
	EachRule bool
	When     bool
	Headers  bool
	Cost     uint32
}

func (l ResolvedLimit) buildShape() descriptorShape {
	return descriptorShape{
		Per: l.Per, Together: l.Together, EachRule: l.EachRule, When: len(l.When) > 0, Headers: l.Headers, Cost: l.Cost,
	}
}

func (s descriptorShape) hashID() string { return hashJSON(s) }

// Keys of descriptors.
const (
	limitKey = "limit"
	whenKey  = "when"
	noValue  = "(none)" // of a request that has none
)

// rateLimit makes a descriptor of a request: of the limit that stands at a place, if there is one.
func (s descriptorShape) rateLimit(place string) *routev3.RateLimit {
	l := &routev3.RateLimit{Actions: []*routev3.RateLimit_Action{metadataAction(limitKey, limitsMetadata, place)}}
	if s.When {
		l.Actions = append(l.Actions, metadataAction(whenKey, rbacMetadata, whenPrefix(place)+shadowResult))
	}
	for _, d := range s.listDimensions() {
		l.Actions = append(l.Actions, d.action)
	}
	if s.Headers {
		l.XRatelimitOption = routev3.RateLimit_DRAFT_VERSION_03
	}
	if s.Cost > 1 {
		l.HitsAddend = &routev3.RateLimit_HitsAddend{Number: wrapperspb.UInt64(uint64(s.Cost))}
	}
	return l
}

// dimension is a part of a request as Envoy counts by it.
type dimension struct {
	key    string
	action *routev3.RateLimit_Action
}

func (s descriptorShape) listDimensions() (list []dimension) {
	for i, d := range s.Per {
		key := strconv.Itoa(i)
		if d.ClientAddress != nil {
			key = "masked_remote_address" // which can't be chosen
		}
		list = append(list, dimension{key, s.dimensionAction(key, d)})
	}
	if s.EachRule {
		list = append(list, dimension{"rule", formatAction("rule", "%ROUTE_NAME%")})
	}
	return list
}

func (s descriptorShape) dimensionAction(key string, d extend.RequestDimension) *routev3.RateLimit_Action {
	switch {
	case mayBeAbsent(d) && !s.Together:
		return formatAction(key, valueFormat(d)+"/"+orAddress(valueCommands(d)))
	case d.ClientAddress != nil:
		v4, v6 := prefixLengths(*d.ClientAddress)
		return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_MaskedRemoteAddress_{
			MaskedRemoteAddress: &routev3.RateLimit_Action_MaskedRemoteAddress{
				V4PrefixMaskLen: wrapperspb.UInt32(v4), V6PrefixMaskLen: wrapperspb.UInt32(v6),
			},
		}}
	default:
		return formatAction(key, valueFormat(d))
	}
}

// command is a command of Envoy's formats.
type command struct {
	Command string `json:"command"`
	Param   string `json:"param,omitempty"`
}

// valueCommands make a value. Each may have a part of it; without any there is none.
func valueCommands(d extend.RequestDimension) []command {
	switch {
	case d.Header != nil:
		return []command{{"REQ", *d.Header}}
	case d.Claim != nil:
		path, _ := extend.ClaimPath(*d.Claim) // Validate has told
		return []command{{"CEL", envoy.ClaimExpression(path)}}
	case d.Cookie != nil:
		return []command{{"DYNAMIC_METADATA", cookieMetadata + ":" + *d.Cookie}}
	case d.Query != nil:
		return []command{{"QUERY_PARAM", *d.Query}}
	case d.User != nil:
		return []command{
			{"DYNAMIC_METADATA", envoy.UserMetadata + ":" + envoy.UserKey}, {"CEL", envoy.ClaimExpression([]string{"sub"})},
		}
	case d.Path != nil:
		return []command{{"PATH", "NQ"}}
	}
	return []command{{"REQ", ":method"}}
}

// valueFormat is a value as Envoy's formats have it.
func valueFormat(d extend.RequestDimension) (text string) {
	for _, c := range valueCommands(d) {
		text += "%" + c.Command + "(" + c.Param + ")%"
	}
	return text
}

// orAddress is the first value that is there, or else the client's address. It stands behind the value and a slash: no
// value that a client sends is another client's address then.
func orAddress(of []command) string {
	operators := append(of, command{"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", strconv.Itoa(clientV6)}) // IPv4 is whole
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(map[string][]command{"operators": operators}); err != nil {
		panic(err) // plain texts
	}
	return "%COALESCE(" + strings.TrimSpace(text.String()) + ")%"
}

// checkDimension tells why Envoy can't count by a dimension: a name that its formats have no word for.
func checkDimension(d extend.RequestDimension) error {
	if d.Path != nil || d.ClientAddress != nil {
		return nil // as it is
	}
	return extend.CheckFormat(valueFormat(d))
}

// metadataAction is a text that a filter put into metadata. Without it the request has no descriptor.
func metadataAction(key, namespace, of string) *routev3.RateLimit_Action {
	return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_Metadata{
		Metadata: &routev3.RateLimit_Action_MetaData{
			DescriptorKey: key, Source: routev3.RateLimit_Action_MetaData_DYNAMIC,
			MetadataKey: &metadatav3.MetadataKey{Key: namespace, Path: []*metadatav3.MetadataKey_PathSegment{{
				Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: of},
			}}},
		},
	}}
}

// formatAction is a value by a format, or noValue. It uses the one action of Envoy with formats that needs no runtime
// flag. This action compares addresses: an inverted match without ranges takes all of them.
func formatAction(key, format string) *routev3.RateLimit_Action {
	return &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_RemoteAddressMatch_{
		RemoteAddressMatch: &routev3.RateLimit_Action_RemoteAddressMatch{
			DescriptorKey: key, DescriptorValue: format, DefaultValue: noValue,
			AddressMatcher: &matcherv3.AddressMatcher{InvertMatch: true},
		},
	}}
}

// cookieFilter puts cookies where formats find them.
func cookieFilter(names map[string]bool) *headertometadatav3.Config {
	config := new(headertometadatav3.Config)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		config.RequestRules = append(config.RequestRules, &headertometadatav3.Config_Rule{
			Cookie:          name,
			OnHeaderPresent: &headertometadatav3.Config_KeyValuePair{MetadataNamespace: cookieMetadata, Key: name},
		})
	}
	return config
}

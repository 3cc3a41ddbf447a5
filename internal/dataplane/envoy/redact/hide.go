package redact

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// hideHeaders leaves out the values of headers that come of Secrets, and filters with secrets. tell gets the texts that
// are left out.
func hideHeaders(table *routev3.RouteConfiguration, tell func(text string)) {
	hideInSettings(table.GetTypedPerFilterConfig(), tell)
	for _, host := range table.GetVirtualHosts() {
		hideInSettings(host.GetTypedPerFilterConfig(), tell)
		for _, route := range host.GetRoutes() {
			hideInSettings(route.GetTypedPerFilterConfig(), tell)
		}
	}
}

func hideInSettings(settings map[string]*anypb.Any, tell func(text string)) {
	for slot := range settings {
		hideFilters(settings, slot, tell)
	}
	config := settings[string(extend.SlotTransform)]
	chain := new(filterchainv3.FilterChainConfigPerRoute)
	if config == nil || config.UnmarshalTo(chain) != nil {
		return
	}
	for _, f := range chain.GetFilterChain().GetFilters() {
		edits := new(headermutationv3.HeaderMutation)
		if f.GetName() != extendenvoy.SecretHeaders || f.GetTypedConfig().UnmarshalTo(edits) != nil {
			continue
		}
		all := edits.GetMutations()
		for _, m := range append(all.GetRequestMutations(), all.GetResponseMutations()...) {
			if m.GetAppend() != nil {
				tell(m.GetAppend().GetHeader().GetValue())
				m.GetAppend().GetHeader().Value = redacted
			}
		}
		f.TypedConfig = message.MustAny(edits)
	}
	settings[string(extend.SlotTransform)] = message.MustAny(chain)
}

// hideFilters leaves out the configuration of filters that have a secret in it.
func hideFilters(settings map[string]*anypb.Any, slot string, tell func(text string)) {
	chain := new(filterchainv3.FilterChainConfigPerRoute)
	if settings[slot].UnmarshalTo(chain) != nil {
		return
	}
	hidden := false
	for _, f := range chain.GetFilterChain().GetFilters() {
		if extendenvoy.IsSecretFilter(f.GetName()) {
			reportMessageTexts(f.GetTypedConfig().ProtoReflect(), tell)
			f.TypedConfig, hidden = &anypb.Any{TypeUrl: f.GetTypedConfig().GetTypeUrl()}, true
		}
	}
	if hidden {
		settings[slot] = message.MustAny(chain)
	}
}

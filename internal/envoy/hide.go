package envoy

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/extend"
)

// hideHeaders leaves out the values of headers that come of Secrets.
func hideHeaders(table *routev3.RouteConfiguration) {
	hideIn(table.GetTypedPerFilterConfig())
	for _, host := range table.GetVirtualHosts() {
		hideIn(host.GetTypedPerFilterConfig())
		for _, route := range host.GetRoutes() {
			hideIn(route.GetTypedPerFilterConfig())
		}
	}
}

func hideIn(settings map[string]*anypb.Any) {
	for slot := range settings {
		hideFilters(settings, slot)
	}
	config := settings[string(extend.SlotTransform)]
	chain := new(filterchainv3.FilterChainConfigPerRoute)
	if config == nil || config.UnmarshalTo(chain) != nil {
		return
	}
	for _, f := range chain.GetFilterChain().GetFilters() {
		edits := new(headermutationv3.HeaderMutation)
		if f.GetName() != extend.SecretHeaders || f.GetTypedConfig().UnmarshalTo(edits) != nil {
			continue
		}
		all := edits.GetMutations()
		for _, m := range append(all.GetRequestMutations(), all.GetResponseMutations()...) {
			if m.GetAppend() != nil {
				m.GetAppend().GetHeader().Value = "[redacted]"
			}
		}
		f.TypedConfig = mustAny(edits)
	}
	settings[string(extend.SlotTransform)] = mustAny(chain)
}

// hideFilters leaves out the configuration of filters that have a secret in it.
func hideFilters(settings map[string]*anypb.Any, slot string) {
	chain := new(filterchainv3.FilterChainConfigPerRoute)
	if settings[slot].UnmarshalTo(chain) != nil {
		return
	}
	hidden := false
	for _, f := range chain.GetFilterChain().GetFilters() {
		if extend.IsSecretFilter(f.GetName()) {
			f.TypedConfig, hidden = &anypb.Any{TypeUrl: f.GetTypedConfig().GetTypeUrl()}, true
		}
	}
	if hidden {
		settings[slot] = mustAny(chain)
	}
}

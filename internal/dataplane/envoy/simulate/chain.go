package simulate

import (
	"net/http"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	filterchainv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/filter_chain/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/request"
)

// filterEffects is what the HTTP filters before the router make of a request.
type filterEffects struct {
	answer        *Outcome                           // of a filter: the request goes no further
	requestEdits  []request.HeaderChange             // before those of the routes
	responseEdits []request.HeaderChange             // of whatever is answered later
	session       *statefulsessionv3.StatefulSession // nil: none
	picker        *extprocv3.ExternalProcessor       // that is asked which endpoint gets the request; nil: none
	askedFeatures []string                           // features that were asked what they do
	deferred      []request.Verdict                  // of filters that the request has not come to
	toMCPServer   bool                               // it goes to a server of MCP
	fromAgent     bool                               // it is an agent's message, so what is forbidden is answered with 200
	pages         bool                               // pages may replace errors, with none of the headers of answers
}

// The filters that do nothing where no level has settings for them.
const (
	corsKind  = "Cors"
	chainKind = "FilterChainConfig"
	faultKind = "HTTPFault"
	// bridgeKind makes a request to a REST backend of a call of a tool.
	bridgeKind = "McpJsonRestBridge"
)

// pagesKind is a filter that replaces errors. Which of them is not simulated.
const pagesKind = "CustomResponse"

var inertKinds = map[string]bool{corsKind: true, chainKind: true, "HeaderMutationPerRoute": true,
	"StatefulSession": true}

// collectFilters notes the HTTP filters of a connection manager. A filter that does something for every request is
// named as not simulated. It tells whether the request goes on.
func (s *simulation) collectFilters(m *hcmv3.HttpConnectionManager) bool {
	for _, f := range m.GetHttpFilters() {
		router := new(routerv3.Router)
		if f.GetTypedConfig().MessageIs(router) {
			if f.GetTypedConfig().UnmarshalTo(router) == nil {
				s.noteUnknownFields(router, "suppress_envoy_headers", "dynamic_stats", "start_child_span", "upstream_log")
			}
			continue
		}
		s.filters = append(s.filters, f)
		if !f.GetDisabled() && !inertKinds[shortType(f.GetTypedConfig().GetTypeUrl())] && !s.runListenerFilter(f) {
			return false
		}
	}
	return true
}

// runListenerFilter asks the feature of a policy what a filter does that all requests pass, whatever takes them. It
// tells whether they go on.
func (s *simulation) runListenerFilter(filter *hcmv3.HttpFilter) bool {
	key := request.GateKey{
		Slot: request.ListenerSlot, Name: filter.GetName(), Type: filter.GetTypedConfig().GetTypeUrl(),
		Config: string(filter.GetTypedConfig().GetValue()),
	}
	gate, found := request.Gate{}, false
	if s.config.Gates != nil {
		gate, found = s.config.Gates("", key)
	}
	if !found || gate.Judge == nil {
		s.noteNotSimulated(filter.GetName())
		return true
	}
	for _, v := range gate.Judge(s.current) {
		switch {
		case v.Shadow != "", v.IsUndecided():
			s.recordGate(v)
		case v.Status != 0:
			s.result.Refused = gate.Feature + " of its listener answers it"
			s.addAnswer(v.Status)
			return false
		}
	}
	return true
}

// runFilters runs the filters that a table, a virtual host or a route has settings for, in the order of the list, up to
// one that answers.
func (s *simulation) runFilters(t *table, v *routev3.VirtualHost, r *routev3.Route) (f filterEffects) {
	levels := filterSettingsOf(t, v, r)
	listed := map[string]bool{}
	for _, filter := range s.filters {
		name := filter.GetName()
		listed[name] = true
		s.applyDeferred(name, r, &f)
		var settings []*anypb.Any
		for _, level := range levels {
			if own := level[name]; own != nil {
				settings = append(settings, own)
			}
		}
		kind := shortType(filter.GetTypedConfig().GetTypeUrl())
		if len(settings) == 0 || f.answer != nil && kind != chainKind || isDisabled(settings[len(settings)-1]) {
			continue
		}
		known := false
		switch kind {
		case corsKind:
			known = s.runCORS(settings[len(settings)-1], r, &f)
		case chainKind:
			known = s.runChain(name, settings, r, &f)
		case faultKind:
			known = s.runListed(filter, settings[len(settings)-1], r, &f)
		}
		if !known && !s.askFeature(slotGateKey(name, settings[len(settings)-1]), r, &f) {
			s.noteNotSimulated(name)
		}
	}
	for len(f.deferred) > 0 { // of slots that are not listed
		s.applyDeferred(f.deferred[0].At, r, &f)
	}
	for _, level := range levels {
		for name := range level {
			if !listed[name] {
				s.noteNotSimulated(name)
			}
		}
	}
	return f
}

// isDisabled tells whether the nearest settings turn a filter off.
func isDisabled(settings *anypb.Any) bool {
	f := new(routev3.FilterConfig)
	return settings.UnmarshalTo(f) == nil && f.GetDisabled()
}

// runListed runs a filter as the list has it, or as the nearest settings have it in place of that. It is false if these
// are not simulated.
func (s *simulation) runListed(filter *hcmv3.HttpFilter, nearest *anypb.Any, r *routev3.Route, f *filterEffects) bool {
	config := nearest
	if isEnabled(nearest) {
		config = filter.GetTypedConfig()
	}
	fault := new(faultv3.HTTPFault)
	if config.UnmarshalTo(fault) != nil {
		return false
	}
	s.runFault(fault, r, f)
	return true
}

// isEnabled tells whether settings turn a filter on as the list has it.
func isEnabled(settings *anypb.Any) bool {
	f := new(routev3.FilterConfig)
	return settings.UnmarshalTo(f) == nil && f.GetConfig() != nil && f.GetConfig().GetTypeUrl() == ""
}

// runChain runs the filters that levels bring along, from far to near: the nearest of each name. It is false if
// settings are not simulated.
func (s *simulation) runChain(slot string, levels []*anypb.Any, r *routev3.Route, f *filterEffects) bool {
	var filters []*corev3.TypedExtensionConfig
	for _, settings := range levels {
		level := new(filterchainv3.FilterChainConfigPerRoute)
		if isDisabled(settings) {
			continue
		}
		if err := settings.UnmarshalTo(level); err != nil {
			return false
		}
		s.noteUnknownFields(level, "filter_chain")
		s.noteUnknownFields(level.GetFilterChain(), "filters")
		for _, near := range level.GetFilterChain().GetFilters() {
			filters = slices.DeleteFunc(filters, func(far *corev3.TypedExtensionConfig) bool {
				return far.GetName() == near.GetName()
			})
			filters = append(filters, near)
		}
	}
	bridged := false
	for _, filter := range filters {
		mutation := new(headermutationv3.HeaderMutation)
		switch {
		case bridged: // it sees the request that a bridge has made of a call, about which the bridge's feature is asked
		case filter.GetTypedConfig().UnmarshalTo(mutation) == nil && editsAnswersOnly(slot, mutation.GetMutations()):
		case filter.GetTypedConfig().UnmarshalTo(mutation) == nil:
			s.applyMutations(filter.GetName(), mutation.GetMutations(), f)
			s.noteUnknownFields(mutation, "mutations")
		case f.answer == nil:
			s.runChainFilter(slot, filter, r, f)
		}
		bridged = bridged || shortType(filter.GetTypedConfig().GetTypeUrl()) == bridgeKind
	}
	return true
}

func (s *simulation) runChainFilter(
	slot string, filter *corev3.TypedExtensionConfig, r *routev3.Route, f *filterEffects,
) {
	if fault := new(faultv3.HTTPFault); filter.GetTypedConfig().UnmarshalTo(fault) == nil {
		s.runFault(fault, r, f)
		return
	}
	picker := new(extprocv3.ExternalProcessor)
	if slot == pickerSlot && filter.GetTypedConfig().UnmarshalTo(picker) == nil {
		s.askPicker(picker, r, f)
		return
	}
	f.pages = f.pages || shortType(filter.GetTypedConfig().GetTypeUrl()) == pagesKind
	session := new(statefulsessionv3.StatefulSession)
	if err := filter.GetTypedConfig().UnmarshalTo(session); err != nil {
		key := request.GateKey{
			Slot: slot, Name: filter.GetName(), Type: filter.GetTypedConfig().GetTypeUrl(),
			Config: string(filter.GetTypedConfig().GetValue()),
		}
		if !s.askFeature(key, r, f) {
			s.noteNotSimulated(filter.GetName())
		}
		return
	}
	s.noteUnknownFields(session, "session_state")
	f.session = session
}

// slotGateKey names a filter that is alone in its slot, by its nearest settings.
func slotGateKey(slot string, nearest *anypb.Any) request.GateKey {
	if isEnabled(nearest) {
		return request.GateKey{Slot: slot}
	}
	return request.GateKey{Slot: slot, Type: nearest.GetTypeUrl(), Config: string(nearest.GetValue())}
}

// askFeature asks the feature that a filter belongs to what it does; false: it is not known, or it can't tell.
func (s *simulation) askFeature(key request.GateKey, r *routev3.Route, f *filterEffects) bool {
	if s.config.Gates == nil {
		return false
	}
	gate, found := s.config.Gates(r.GetName(), key)
	if !found || gate.Judge == nil {
		return false
	}
	f.toMCPServer = f.toMCPServer || strings.HasSuffix(key.Type, ".Mcp")
	notifies := s.current.Agent != nil && strings.HasPrefix(s.current.Agent.Method, "notifications/")
	f.fromAgent = f.toMCPServer && s.current.Method == http.MethodPost && !notifies
	if slices.Contains(f.askedFeatures, gate.Feature) {
		return true
	}
	f.askedFeatures = append(f.askedFeatures, gate.Feature)
	list := gate.Judge(f.changeRequest(s.current))
	for i := range list {
		list[i].Why = strings.TrimSuffix(gate.Feature+": "+list[i].Why, ": ")
	}
	s.applyVerdicts(key.Slot, list, r, f)
	return true
}

// applyVerdicts does what verdicts say, up to one that answers. Those of other slots have to wait.
func (s *simulation) applyVerdicts(slot string, list []request.Verdict, r *routev3.Route, f *filterEffects) {
	for _, v := range list {
		if v.Status == http.StatusForbidden && f.fromAgent && v.Shadow == "" {
			v.Status = http.StatusOK // with an error of JSON-RPC
		}
		switch {
		case f.answer != nil:
			return
		case v.At != "" && v.At != slot:
			f.deferred = append(f.deferred, v)
		case v.Shadow != "", v.IsUndecided():
			s.recordGate(v)
		case v.Status != 0:
			f.answer = &Outcome{Route: r.GetName(), Match: r.GetMatch(), Effect: request.Effect{Status: v.Status, Why: v.Why}}
		}
	}
}

// applyDeferred does what verdicts say that waited for a slot.
func (s *simulation) applyDeferred(slot string, r *routev3.Route, f *filterEffects) {
	waiting := f.deferred
	f.deferred = nil
	s.applyVerdicts(slot, waiting, r, f)
}

package envoy

import (
	"fmt"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
)

// overlayFields puts what is stated, encoded, in place of what is there.
func overlayFields(in, fields proto.Message, stated []byte) {
	if len(stated) == 0 {
		return
	}
	mustUnmarshal(stated, fields)
	mergeFields(in.ProtoReflect(), fields.ProtoReflect())
}

// clearFields puts the zero value into fields.
func clearFields(in proto.Message, names []string) {
	m := in.ProtoReflect()
	for _, name := range names {
		m.Clear(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
	}
}

// overlayListener puts what is stated for a port into its Listener.
func overlayListener(l *listenerv3.Listener, stated listenerFields) {
	overlayFields(l, new(listenerv3.Listener), stated.port.Listener)
	var before []*listenerv3.ListenerFilter
	for _, f := range stated.port.Filters {
		before = append(before, &listenerv3.ListenerFilter{
			Name: f.Name, ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: f.unpack()},
		})
	}
	l.ListenerFilters = append(before, l.ListenerFilters...)
}

// overlayChain puts what is stated into a filter chain.
func overlayChain(chain *listenerv3.FilterChain, stated listenerFields) {
	overlayFields(chain, new(listenerv3.FilterChain), stated.chain.Chain)
	var before []*listenerv3.Filter
	for _, f := range stated.chain.Filters {
		before = append(before, &listenerv3.Filter{
			Name: f.Name, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: f.unpack()},
		})
	}
	switch { // a chain without filters closes connections, and Envoy refuses one that none of its filters ends
	case stated.Closed:
		chain.Filters = nil
	case len(chain.Filters) > 0:
		chain.Filters = append(before, chain.Filters...)
	}
}

// overlayManager puts what is stated into a connection manager.
func overlayManager(m *hcmv3.HttpConnectionManager, stated listenerFields) {
	overlayFields(m, new(hcmv3.HttpConnectionManager), stated.chain.Connections)
	clearFields(m, stated.chain.Zero)
	var before []*hcmv3.HttpFilter
	for _, f := range stated.Filters {
		before = append(before, &hcmv3.HttpFilter{
			Name: f.Name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: httpfilters.UnpackConfig(f.Config)},
		})
	}
	m.HttpFilters = append(before, m.HttpFilters...)
}

// overlayTLS puts what is stated into how TLS is spoken.
func overlayTLS(context *tlsv3.DownstreamTlsContext, stated listenerFields) {
	overlayFields(context, new(tlsv3.DownstreamTlsContext), stated.chain.TLS)
}

// settingTarget names what states something for proxies apart from tables: a backend, a port or a filter chain (the
// others are zero).
type settingTarget struct {
	Backend  plan.BackendKey
	Port     model.PortKey
	Listener model.ListenerKey
}

// gatewayRef is the Gateway that the proxies belong to.
func (k settingTarget) gatewayRef() model.ObjectRef {
	switch {
	case k.Port != model.PortKey{}:
		return k.Port.Gateway
	case k.Listener != model.ListenerKey{}:
		return k.Listener.Parent
	}
	return k.Backend.Gateway
}

// pendingPorts tells of what is stated for ports what is not acknowledged, or refused.
func (s stages) pendingPorts(
	p plan.Plan, lds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[settingTarget, pendingSetting] {
	return flow.Rename(p.Settings.Ports, "envoy/port-pending",
		func(k model.PortKey) settingTarget { return settingTarget{Port: k} },
		func(c *flow.Ctx, k model.PortKey, stated plan.ListenerSettings) (of pendingSetting, some bool) {
			port, _ := flow.Fetch(c, p.Ports, k)
			return s.pendingInPort(c, lds, port, resource.Origin{Object: k.Gateway}, stated.From)
		})
}

// pendingChains tells the same of what is stated for filter chains.
func (s stages) pendingChains(
	p plan.Plan, lds, sds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[settingTarget, pendingSetting] {
	return flow.Rename(p.Settings.FilterChains, "envoy/chain-pending",
		func(k model.ListenerKey) settingTarget { return settingTarget{Listener: k} },
		func(c *flow.Ctx, k model.ListenerKey, stated plan.ListenerSettings) (of pendingSetting, some bool) {
			l, _ := flow.Fetch(c, p.Listeners, k)
			port, _ := flow.Fetch(c, p.Ports, l.Port)
			of, _ = s.pendingInPort(c, lds, port, naming.ListenerOrigin(k), stated.From)
			if stated.AsksClients {
				s.newAckReader(c, l.DataPlane).addSecret(&of.Standing, sds, validationKey(l, decodeListener(stated)))
			}
			return of, !of.Standing.Acknowledged
		})
}

// pendingInPort is the standing of what an origin has in the Listeners of a port; false: all of it is acknowledged.
func (s stages) pendingInPort(
	c *flow.Ctx, lds *flow.Collection[resource.Key, resource.Resource], port model.Port, origin resource.Origin,
	from []model.ObjectRef,
) (of pendingSetting, some bool) {
	of.From, of.Standing = from, resource.AckState{Acknowledged: true}
	judge := s.newAckReader(c, port.DataPlane)
	for _, in := range listenerKeys(port) {
		r, _ := flow.Fetch(c, lds, in)
		for _, part := range r.Parts {
			for _, content := range part.Fragments {
				if content.Origin == origin {
					judge.addContent(&of.Standing, in, content)
				}
			}
		}
	}
	if of.Standing.Refused != "" {
		where := "listener " + origin.Section
		if origin.Section == "" {
			where = fmt.Sprintf("port %d", port.Key.Number)
		}
		of.Standing.Refused = where + ": " + of.Standing.Refused
	}
	return of, !of.Standing.Acknowledged
}

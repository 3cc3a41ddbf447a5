package envoy

import (
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/route"
)

// featureRenderer renders features of policies.
type featureRenderer struct{}

// RenderRule implements plan.Renderer.
func (featureRenderer) RenderRule(v extend.Value, from model.ObjectRef) (plan.Rendered, bool) {
	e := &ruleBuilder{from: from}
	e.addSanitizer(httpfilters.Coding, v.Sets().Only) // before any filter that reads one
	able := render(extendenvoy.Of(v).Rule, extendenvoy.Rule(e))
	for i := range e.out.Settings {
		e.out.Settings[i].Uses = e.uses
	}
	for i := range e.out.Entries {
		e.out.Entries[i].Entry.Uses = e.uses
	}
	if e.fields != nil {
		e.out.Fields = message.MustMarshal(e.fields)
	}
	return e.out, able
}

// RenderBackend implements plan.Renderer.
func (featureRenderer) RenderBackend(v extend.Value, of model.BackendKey) (plan.Rendered, bool) {
	e := &backendBuilder{of: of, cluster: new(clusterv3.Cluster), http: new(upstreamv3.HttpProtocolOptions)}
	e.out.Backend = new(plan.BackendFields)
	able := render(extendenvoy.Of(v).Backend, extendenvoy.Backend(e))
	e.out.Backend.Fields = encodePiece(backendFields{message.MustMarshal(e.cluster), message.MustMarshal(e.http)})
	return e.out, able
}

// RenderListener implements plan.Renderer.
func (featureRenderer) RenderListener(v extend.Value, from model.ObjectRef) (plan.Rendered, bool) {
	e := &listenerBuilder{from: from}
	able := render(extendenvoy.Of(v).Listener, extendenvoy.Listener(e))
	return plan.Rendered{Listener: e.encodeFields(), Unsupported: e.unsupported}, able
}

func render[E any](by func(E), e E) (able bool) {
	if by != nil {
		by(e)
	}
	return by != nil
}

// RenderError implements plan.Renderer.
func (featureRenderer) RenderError(name string, status int, from model.ObjectRef) []plan.Setting {
	list := httpfilters.FailSettings(httpfilters.Guard, name, uint32(status))
	for i := range list {
		list[i].From = from
	}
	return list
}

// ruleBuilder implements Rule of package extend/envoy.
type ruleBuilder struct {
	from   model.ObjectRef
	out    plan.Rendered
	fields *routev3.Route
	uses   []model.BackendKey
}

// Filter implements envoy.Rule.
func (e *ruleBuilder) Filter(slot extend.Slot, name string, config proto.Message) {
	e.addSetting(httpfilters.NewSetting(string(slot), name, config))
}

// Sanitize implements envoy.Rule.
func (e *ruleBuilder) Sanitize(headers ...string) { e.addSanitizer(httpfilters.Authn, headers) }

func (e *ruleBuilder) addSanitizer(slot string, headers []string) {
	if len(headers) == 0 {
		return
	}
	headers = slices.Compact(slices.Sorted(slices.Values(headers)))
	s := httpfilters.NewSetting(slot, "sanitize/"+strings.Join(headers, ","), route.RemoveHeaders(headers))
	s.Lasting = true
	e.addSetting(s)
}

// Set implements envoy.Rule.
func (e *ruleBuilder) Set(slot extend.Slot, config proto.Message, entries ...string) {
	s := plan.Setting{Slot: string(slot)}
	if config != nil {
		s = httpfilters.NewSetting(string(slot), "", config)
	}
	s.Entries = entries
	e.addSetting(s)
}

func (e *ruleBuilder) addSetting(s plan.Setting) {
	s.From = e.from
	e.out.Settings = append(e.out.Settings, s)
}

// Shared implements envoy.Rule.
func (e *ruleBuilder) Shared(slot extend.Slot, id string, entry proto.Message) {
	e.out.Entries = append(e.out.Entries, plan.RenderedEntry{
		Slot: string(slot), ID: id, Entry: plan.SharedEntry{From: e.from, Value: message.MustMarshal(entry)},
	})
}

// Route implements envoy.Rule.
func (e *ruleBuilder) Route(fields *routev3.Route) {
	if e.fields == nil {
		e.fields = new(routev3.Route)
	}
	proto.Merge(e.fields, fields)
}

// Cluster implements envoy.Rule.
func (e *ruleBuilder) Cluster(backend extend.BackendKey) string {
	e.uses = append(e.uses, backend)
	return naming.Cluster(backend)
}

// Unsupported implements envoy.Rule.
func (e *ruleBuilder) Unsupported(field, why string) {
	e.out.Unsupported = append(e.out.Unsupported, plan.Unsupported{Field: field, Why: why})
}

// backendBuilder implements Backend of package extend/envoy.
type backendBuilder struct {
	of      model.BackendKey
	out     plan.Rendered
	cluster *clusterv3.Cluster
	http    *upstreamv3.HttpProtocolOptions
}

// Cluster implements envoy.Backend.
func (e *backendBuilder) Cluster(fields *clusterv3.Cluster) { proto.Merge(e.cluster, fields) }

// HTTP implements envoy.Backend.
func (e *backendBuilder) HTTP(fields *upstreamv3.HttpProtocolOptions) { proto.Merge(e.http, fields) }

// Filter implements envoy.Backend.
func (e *backendBuilder) Filter(name string, config proto.Message) {
	e.http.HttpFilters = append(e.http.HttpFilters, &hcmv3.HttpFilter{
		Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: message.MustAny(config)},
	})
}

// Secret implements envoy.Backend.
func (e *backendBuilder) Secret(name string, text extend.Bytes) *tlsv3.SdsSecretConfig {
	name = naming.BackendSecret(e.of, name)
	e.out.Backend.Secrets = append(e.out.Backend.Secrets, plan.BackendSecret{Name: name, Text: text})
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: message.ADSConfigSource()}
}

// Unsupported implements envoy.Backend.
func (e *backendBuilder) Unsupported(field, why string) {
	e.out.Unsupported = append(e.out.Unsupported, plan.Unsupported{Field: field, Why: why})
}

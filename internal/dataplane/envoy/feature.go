package envoy

import (
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// features renders features of policies.
type features struct{}

// Rule implements plan.Renderer.
func (features) Rule(v extend.Value, from model.ObjectRef) (plan.Rendered, bool) {
	e := &ruleFeature{from: from}
	e.sanitize(httpfilters.Coding, v.Sets().Only) // before any filter that reads one
	able := v.Rule(e)
	for i := range e.out.Settings {
		e.out.Settings[i].Uses = e.uses
	}
	for i := range e.out.Entries {
		e.out.Entries[i].Entry.Uses = e.uses
	}
	if e.fields != nil {
		e.out.Fields = mustMarshal(e.fields)
	}
	return e.out, able
}

// Backend implements plan.Renderer.
func (features) Backend(v extend.Value, of model.BackendKey) (plan.Rendered, bool) {
	e := &backendFeature{of: of, cluster: new(clusterv3.Cluster), http: new(upstreamv3.HttpProtocolOptions)}
	e.out.Backend = new(plan.BackendFields)
	able := v.Backend(e)
	e.out.Backend.Cluster, e.out.Backend.HTTP = mustMarshal(e.cluster), mustMarshal(e.http)
	return e.out, able
}

// Listener implements plan.Renderer.
func (features) Listener(v extend.Value, _ model.ObjectRef) (plan.Rendered, bool) {
	e := new(listenerFeature)
	e.out.Listener = new(plan.ListenerFields)
	able := v.Listener(e)
	to := e.out.Listener
	for _, fields := range []struct {
		stated proto.Message
		to     *model.Encoded
	}{{&e.listener, &to.Listener}, {&e.chain, &to.Chain}, {&e.tls, &to.TLS}, {&e.connections, &to.Connections},
		{&e.clients, &to.Clients}, {&e.inspector, &to.TLSInspector}} {
		if encoded := mustMarshal(fields.stated); len(encoded) > 0 {
			*fields.to = encoded
		}
	}
	return e.out, able
}

// Error implements plan.Renderer.
func (features) Error(name string, status int, from model.ObjectRef) []plan.Setting {
	list := httpfilters.Failing(httpfilters.Guard, name, uint32(status))
	for i := range list {
		list[i].From = from
	}
	return list
}

// ruleFeature is an extend.EnvoyRule.
type ruleFeature struct {
	from   model.ObjectRef
	out    plan.Rendered
	fields *routev3.Route
	uses   []model.BackendKey
}

// Filter implements extend.EnvoyRule.
func (e *ruleFeature) Filter(slot extend.Slot, name string, config proto.Message) {
	e.add(httpfilters.Set(string(slot), name, config))
}

// Sanitize implements extend.EnvoyRule.
func (e *ruleFeature) Sanitize(headers ...string) { e.sanitize(httpfilters.Authn, headers) }

func (e *ruleFeature) sanitize(slot string, headers []string) {
	if len(headers) == 0 {
		return
	}
	headers = slices.Compact(slices.Sorted(slices.Values(headers)))
	s := httpfilters.Set(slot, "sanitize/"+strings.Join(headers, ","), removing(headers))
	s.Lasting = true
	e.add(s)
}

// removing takes headers off requests.
func removing(headers []string) *headermutationv3.HeaderMutation {
	var changes []extend.HeaderChange
	for _, name := range headers {
		changes = append(changes, extend.HeaderChange{Action: extend.RemoveHeader, Name: name})
	}
	return &headermutationv3.HeaderMutation{
		Mutations: &headermutationv3.Mutations{RequestMutations: extend.HeaderMutations(changes)},
	}
}

// Set implements extend.EnvoyRule.
func (e *ruleFeature) Set(slot extend.Slot, config proto.Message, entries ...string) {
	s := plan.Setting{Slot: string(slot)}
	if config != nil {
		s = httpfilters.Set(string(slot), "", config)
	}
	s.Entries = entries
	e.add(s)
}

func (e *ruleFeature) add(s plan.Setting) {
	s.From = e.from
	e.out.Settings = append(e.out.Settings, s)
}

// Shared implements extend.EnvoyRule.
func (e *ruleFeature) Shared(slot extend.Slot, id string, entry proto.Message) {
	e.out.Entries = append(e.out.Entries, plan.RenderedEntry{
		Slot: string(slot), ID: id, Entry: plan.SharedEntry{From: e.from, Value: mustMarshal(entry)},
	})
}

// Route implements extend.EnvoyRule.
func (e *ruleFeature) Route(fields *routev3.Route) {
	if e.fields == nil {
		e.fields = new(routev3.Route)
	}
	proto.Merge(e.fields, fields)
}

// Cluster implements extend.EnvoyRule.
func (e *ruleFeature) Cluster(backend extend.BackendKey) string {
	e.uses = append(e.uses, backend)
	return clusterName(backend)
}

// Unsupported implements extend.EnvoyRule.
func (e *ruleFeature) Unsupported(field, why string) {
	e.out.Unsupported = append(e.out.Unsupported, plan.Unsupported{Field: field, Why: why})
}

// backendFeature is an extend.EnvoyBackend.
type backendFeature struct {
	of      model.BackendKey
	out     plan.Rendered
	cluster *clusterv3.Cluster
	http    *upstreamv3.HttpProtocolOptions
}

// Cluster implements extend.EnvoyBackend.
func (e *backendFeature) Cluster(fields *clusterv3.Cluster) { proto.Merge(e.cluster, fields) }

// HTTP implements extend.EnvoyBackend.
func (e *backendFeature) HTTP(fields *upstreamv3.HttpProtocolOptions) { proto.Merge(e.http, fields) }

// Filter implements extend.EnvoyBackend.
func (e *backendFeature) Filter(name string, config proto.Message) {
	e.http.HttpFilters = append(e.http.HttpFilters, &hcmv3.HttpFilter{
		Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(config)},
	})
}

// Secret implements extend.EnvoyBackend.
func (e *backendFeature) Secret(name string, text extend.Bytes) *tlsv3.SdsSecretConfig {
	name = backendSecretName(e.of, name)
	e.out.Backend.Secrets = append(e.out.Backend.Secrets, plan.BackendSecret{Name: name, Text: text})
	return &tlsv3.SdsSecretConfig{Name: name, SdsConfig: overADS()}
}

// Unsupported implements extend.EnvoyBackend.
func (e *backendFeature) Unsupported(field, why string) {
	e.out.Unsupported = append(e.out.Unsupported, plan.Unsupported{Field: field, Why: why})
}

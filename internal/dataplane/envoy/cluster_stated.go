package envoy

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// clusterWithSettings is the cluster of a backend for which something is stated.
func clusterWithSettings(b model.Backend, stated plan.BackendFields) *clusterv3.Cluster {
	c, fields := commonCluster(b.Protocol), new(clusterv3.Cluster)
	proto.Merge(c, renderCluster(b))
	encoded := decodeBackend(stated)
	mustUnmarshal(encoded.Cluster, fields)
	mergeFields(c.ProtoReflect(), fields.ProtoReflect())
	if len(encoded.HTTP) > 0 {
		http, own := message.UpstreamHTTP(b.Protocol), new(upstreamv3.HttpProtocolOptions)
		mustUnmarshal(encoded.HTTP, own)
		mergeFields(http.ProtoReflect(), own.ProtoReflect())
		if len(http.HttpFilters) > 0 {
			http.HttpFilters = append(http.HttpFilters, upstreamCodec)
		}
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{message.HTTPOptionsName: message.MustAny(http)}
	}
	if b.Pool != nil {
		c.LoadBalancingPolicy = poolLoadBalancing(b.Pool, fields.LoadBalancingPolicy)
	}
	for _, check := range c.HealthChecks {
		setCheckProtocol(check, b)
	}
	if stated.Closed {
		c.CircuitBreakers = zeroCircuitBreakers()
	}
	return c
}

// upstreamCodec has to be the last of a cluster's filters.
var upstreamCodec = &hcmv3.HttpFilter{
	Name: "codec", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: message.MustAny(&codecv3.UpstreamCodec{})},
}

// zeroCircuitBreakers has requests answered with 503, also where a connection is open.
func zeroCircuitBreakers() *clusterv3.CircuitBreakers {
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxPendingRequests: wrapperspb.UInt32(0), MaxRequests: wrapperspb.UInt32(0),
	}}}
}

// setCheckProtocol has a check speak to a backend as requests do.
func setCheckProtocol(check *corev3.HealthCheck, b model.Backend) {
	h := check.GetHttpHealthCheck()
	if h == nil {
		return
	}
	if h.Host == "" {
		h.Host = b.Key.Object.Name() + "." + b.Key.Object.Namespace()
		if b.TLS != nil {
			h.Host = b.TLS.Hostname
		}
		if b.Hostname != "" {
			h.Host = b.Hostname
		}
	}
	alpn := "http/1.1"
	if b.Protocol == model.HTTP2 {
		h.CodecClientType, alpn = typev3.CodecClientType_HTTP2, "h2"
	}
	if b.TLS != nil {
		check.TlsOptions = &corev3.HealthCheck_TlsOptions{AlpnProtocols: []string{alpn}}
	}
}

// mergeFields sets each field that is stated. It merges a message field by field. A list, a map and a value that
// protobuf has as a message, such as a duration, replace what is there.
func mergeFields(in, stated protoreflect.Message) {
	stated.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if m := f.Message(); m != nil && !f.IsList() && !f.IsMap() && in.Has(f) && m.ParentFile().Package() != wellKnown {
			mergeFields(in.Mutable(f).Message(), v.Message())
		} else {
			in.Set(f, v)
		}
		return true
	})
}

// wellKnown is the package of protobuf's own messages.
const wellKnown = "google.protobuf"

// mustUnmarshal reads what this package wrote.
func mustUnmarshal(b []byte, into proto.Message) {
	if err := proto.Unmarshal(b, into); err != nil {
		panic(err)
	}
}

// pendingAckStates tells of each object that states something for a Gateway's backends, ports or filter chains what of
// that is not acknowledged, or refused. It has no entry if nothing is.
func (s stages) pendingAckStates(
	p plan.Plan, cds, lds, sds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[resource.AckStateKey, resource.AckState] {
	itself := func(_ *flow.Ctx, _ settingTarget, of pendingSetting) (pendingSetting, bool) { return of, true }
	var apart []flow.Input[settingTarget, pendingSetting]
	if p.Settings.Ports != nil {
		apart = append(apart, flow.From(s.pendingPorts(p, lds), itself))
	}
	if p.Settings.FilterChains != nil {
		apart = append(apart, flow.From(s.pendingChains(p, lds, sds), itself))
	}
	all := flow.Merge("envoy/pending", flow.From(s.pendingBackends(p, cds), itself), apart...)
	byObject := flow.Group(all, "envoy/pending-by-object",
		func(k settingTarget, of pendingSetting) (keys []resource.AckStateKey) {
			for _, from := range of.From {
				keys = append(keys, resource.AckStateKey{Gateway: k.gatewayRef(), Origin: resource.Origin{Object: from}})
			}
			return keys
		}, func(_ settingTarget, of pendingSetting) string {
			if of.Standing.Refused != "" {
				return "0"
			}
			return "1"
		})
	return flow.Map(byObject, "envoy/stated-standings",
		func(_ *flow.Ctx, _ resource.AckStateKey, all flow.Members[settingTarget, pendingSetting]) (resource.AckState, bool) {
			_, first := all.At(0)
			return first.Standing, true
		})
}

// pendingBackends tells of what is stated for backends what is not acknowledged, or refused.
func (s stages) pendingBackends(
	p plan.Plan, cds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[settingTarget, pendingSetting] {
	return flow.Rename(p.Settings.Backends, "envoy/backend-pending",
		func(k plan.BackendKey) settingTarget { return settingTarget{Backend: k} },
		func(c *flow.Ctx, k plan.BackendKey, stated plan.BackendSettings) (of pendingSetting, some bool) {
			g, _ := flow.Fetch(c, p.Gateways, k.Gateway)
			key := naming.BackendResource(xdstypes.Cluster)(k)
			cluster, found := flow.Fetch(c, cds, key)
			if !found {
				return of, false
			}
			of.From, of.Standing = stated.From, resource.AckState{Acknowledged: true}
			s.newAckReader(c, g.DataPlane).addContent(&of.Standing, key, cluster.Parts[0].Fragments[0])
			if of.Standing.Refused != "" {
				of.Standing.Refused = k.Backend.Describe() + ": " + of.Standing.Refused
			}
			return of, !of.Standing.Acknowledged
		})
}

// pendingSetting is a backend, a port or a filter chain with a setting that is not acknowledged yet.
type pendingSetting struct {
	From     []model.ObjectRef
	Standing resource.AckState
}

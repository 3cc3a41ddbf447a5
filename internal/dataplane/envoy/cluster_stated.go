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
)

// statedCluster is the cluster of a backend for which something is stated.
func statedCluster(b model.Backend, stated plan.BackendFields) *clusterv3.Cluster {
	c, fields := commonCluster(b.Protocol), new(clusterv3.Cluster)
	proto.Merge(c, renderCluster(b))
	mustUnmarshal(stated.Cluster, fields)
	mergeFields(c.ProtoReflect(), fields.ProtoReflect())
	if len(stated.HTTP) > 0 {
		http, own := upstreamHTTP(b.Protocol), new(upstreamv3.HttpProtocolOptions)
		mustUnmarshal(stated.HTTP, own)
		mergeFields(http.ProtoReflect(), own.ProtoReflect())
		if len(http.HttpFilters) > 0 {
			http.HttpFilters = append(http.HttpFilters, upstreamCodec)
		}
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{httpOptionsName: mustAny(http)}
	}
	if b.Pool != nil {
		c.LoadBalancingPolicy = choosing(b.Pool, fields.LoadBalancingPolicy)
	}
	for _, check := range c.HealthChecks {
		speak(check, b)
	}
	if stated.Closed {
		c.CircuitBreakers = takesNothing()
	}
	return c
}

// upstreamCodec has to be the last of a cluster's filters.
var upstreamCodec = &hcmv3.HttpFilter{
	Name: "codec", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: mustAny(&codecv3.UpstreamCodec{})},
}

// takesNothing has requests answered with 503, also where a connection is open.
func takesNothing() *clusterv3.CircuitBreakers {
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxPendingRequests: wrapperspb.UInt32(0), MaxRequests: wrapperspb.UInt32(0),
	}}}
}

// speak has a check speak to a backend as requests do.
func speak(check *corev3.HealthCheck, b model.Backend) {
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

// statedStandings tells of each object that states something for a Gateway's backends, ports or filter chains what of
// that is not acknowledged, or refused. It has no entry if nothing is.
func (s stages) statedStandings(
	p plan.Plan, cds, lds, sds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[resource.StandingKey, resource.Standing] {
	itself := func(_ *flow.Ctx, _ statingKey, of pending) (pending, bool) { return of, true }
	var apart []flow.Input[statingKey, pending]
	if p.Settings.Ports != nil {
		apart = append(apart, flow.From(s.portPending(p, lds), itself))
	}
	if p.Settings.Chains != nil {
		apart = append(apart, flow.From(s.chainPending(p, lds, sds), itself))
	}
	all := flow.Merge("envoy/pending", flow.From(s.backendPending(p, cds), itself), apart...)
	byObject := flow.Group(all, "envoy/pending-by-object",
		func(k statingKey, of pending) (keys []resource.StandingKey) {
			for _, from := range of.From {
				keys = append(keys, resource.StandingKey{Gateway: k.gateway(), Origin: resource.Origin{Object: from}})
			}
			return keys
		}, func(_ statingKey, of pending) string {
			if of.Standing.Refused != "" {
				return "0"
			}
			return "1"
		})
	return flow.Map(byObject, "envoy/stated-standings",
		func(_ *flow.Ctx, _ resource.StandingKey, all flow.Members[statingKey, pending]) (resource.Standing, bool) {
			_, first := all.At(0)
			return first.Standing, true
		})
}

// backendPending tells of what is stated for backends what is not acknowledged, or refused.
func (s stages) backendPending(
	p plan.Plan, cds *flow.Collection[resource.Key, resource.Resource],
) *flow.Collection[statingKey, pending] {
	return flow.Rename(p.Settings.Backends, "envoy/backend-pending",
		func(k plan.BackendKey) statingKey { return statingKey{Backend: k} },
		func(c *flow.Ctx, k plan.BackendKey, stated plan.BackendSettings) (of pending, some bool) {
			g, _ := flow.Fetch(c, p.Gateways, k.Gateway)
			key := backendResource(resource.Cluster)(k)
			cluster, found := flow.Fetch(c, cds, key)
			if !found {
				return of, false
			}
			of.From, of.Standing = stated.From, resource.Standing{Acknowledged: true}
			s.judge(c, g.DataPlane).content(&of.Standing, key, cluster.Parts[0].Fragments[0])
			if of.Standing.Refused != "" {
				of.Standing.Refused = k.Backend.Words() + ": " + of.Standing.Refused
			}
			return of, !of.Standing.Acknowledged
		})
}

// pending is a backend, a port or a filter chain with a setting that is not acknowledged yet.
type pending struct {
	From     []model.ObjectRef
	Standing resource.Standing
}

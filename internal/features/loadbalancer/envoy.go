package loadbalancer

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/common/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	maglevv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/maglev/v3"
	randomv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/random/v3"
	ringhashv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/ring_hash/v3"
	roundrobinv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/round_robin/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

// renderBackend states an extension in place of Envoy's older lb_policy: only there do clusters have keys of their own,
// so that no route has to know them.
func renderBackend(e envoy.Backend, v Value) {
	var config proto.Message
	switch v.By {
	case LeastRequests:
		config = &leastrequestv3.LeastRequest{ChoiceCount: envoy.ProtoNumber(v.Choices)}
	case RoundRobin:
		config = &roundrobinv3.RoundRobin{}
	case Random:
		config = &randomv3.Random{}
	case Ring:
		config = &ringhashv3.RingHash{
			MinimumRingSize: protoSize(v.MinSize), MaximumRingSize: protoSize(v.MaxSize),
			ConsistentHashingLbConfig: consistentHashing(v),
		}
	case MaglevTable:
		config = &maglevv3.Maglev{TableSize: protoSize(v.TableSize), ConsistentHashingLbConfig: consistentHashing(v)}
	default:
		return
	}
	packed, err := anypb.New(config)
	if err != nil {
		panic(err) // a message can be packed
	}
	e.Cluster(&clusterv3.Cluster{LoadBalancingPolicy: &clusterv3.LoadBalancingPolicy{
		Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
			TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: string(v.By), TypedConfig: packed},
		}},
	}})
}

func protoSize(n *uint32) *wrapperspb.UInt64Value {
	if n == nil {
		return nil
	}
	return wrapperspb.UInt64(uint64(*n))
}

func consistentHashing(v Value) *commonv3.ConsistentHashingLbConfig {
	c := &commonv3.ConsistentHashingLbConfig{HashBalanceFactor: envoy.ProtoNumber(v.BoundedLoad)}
	for _, k := range v.Keys {
		c.HashPolicy = append(c.HashPolicy, k.hashPolicy())
	}
	return c
}

// hashPolicy ends the search if the request has the key.
func (k Key) hashPolicy() *routev3.RouteAction_HashPolicy {
	p := &routev3.RouteAction_HashPolicy{Terminal: true}
	switch {
	case k.Header != "":
		p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Header_{
			Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: k.Header},
		}
	case k.Query != "":
		p.PolicySpecifier = &routev3.RouteAction_HashPolicy_QueryParameter_{
			QueryParameter: &routev3.RouteAction_HashPolicy_QueryParameter{Name: k.Query},
		}
	case k.Cookie != nil:
		p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Cookie_{Cookie: k.Cookie.cookiePolicy()}
	default:
		p.PolicySpecifier = &routev3.RouteAction_HashPolicy_ConnectionProperties_{
			ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true},
		}
	}
	return p
}

// cookiePolicy: Envoy adds HttpOnly by itself.
func (c Cookie) cookiePolicy() *routev3.RouteAction_HashPolicy_Cookie {
	p := &routev3.RouteAction_HashPolicy_Cookie{Name: c.Name, Path: c.Path, Ttl: envoy.ProtoDuration(c.TTL)}
	if c.SameSite != "" {
		p.Attributes = append(p.Attributes, &routev3.RouteAction_HashPolicy_CookieAttribute{
			Name: "SameSite", Value: c.SameSite,
		})
	}
	if c.Secure {
		p.Attributes = append(p.Attributes, &routev3.RouteAction_HashPolicy_CookieAttribute{Name: "Secure"})
	}
	return p
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Backend: renderBackend})

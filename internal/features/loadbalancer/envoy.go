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

	"cardea.dev/cardea/extend"
)

// render states an extension in place of Envoy's older lb_policy: only there do clusters have keys of their own, so
// that no route has to know them.
func render(e extend.EnvoyBackend, v Value) {
	var config proto.Message
	switch v.By {
	case LeastRequests:
		config = &leastrequestv3.LeastRequest{ChoiceCount: extend.ProtoNumber(v.Choices)}
	case RoundRobin:
		config = &roundrobinv3.RoundRobin{}
	case Random:
		config = &randomv3.Random{}
	case Ring:
		config = &ringhashv3.RingHash{
			MinimumRingSize: size(v.MinSize), MaximumRingSize: size(v.MaxSize), ConsistentHashingLbConfig: hashing(v),
		}
	case MaglevTable:
		config = &maglevv3.Maglev{TableSize: size(v.TableSize), ConsistentHashingLbConfig: hashing(v)}
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

func size(n *uint32) *wrapperspb.UInt64Value {
	if n == nil {
		return nil
	}
	return wrapperspb.UInt64(uint64(*n))
}

func hashing(v Value) *commonv3.ConsistentHashingLbConfig {
	c := &commonv3.ConsistentHashingLbConfig{HashBalanceFactor: extend.ProtoNumber(v.BoundedLoad)}
	for _, k := range v.Keys {
		c.HashPolicy = append(c.HashPolicy, k.policy())
	}
	return c
}

// policy ends the search if the request has the key.
func (k Key) policy() *routev3.RouteAction_HashPolicy {
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
		p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Cookie_{Cookie: k.Cookie.policy()}
	default:
		p.PolicySpecifier = &routev3.RouteAction_HashPolicy_ConnectionProperties_{
			ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true},
		}
	}
	return p
}

// policy: Envoy adds HttpOnly by itself.
func (c Cookie) policy() *routev3.RouteAction_HashPolicy_Cookie {
	p := &routev3.RouteAction_HashPolicy_Cookie{Name: c.Name, Path: c.Path, Ttl: extend.ProtoDuration(c.TTL)}
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

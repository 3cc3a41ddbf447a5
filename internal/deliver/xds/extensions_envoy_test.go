package xds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	limitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// extension configures a filter of that name.
func extension(name string, m proto.Message) resource.Resource {
	return single(model.KindService, name, &corev3.TypedExtensionConfig{Name: name, TypedConfig: mustAny(m)})
}

// entriesHead stands before the requirements of an extension.
func entriesHead(name string, rest []*resource.Part) *resource.Part {
	size := 0
	for _, p := range rest {
		size += p.Size
	}
	length := func(b []byte, n int) []byte {
		return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.BytesType), uint64(n))
	}
	value := length(field(1, []byte(mustAny(requirements()).TypeUrl)), size)
	b := append(length(field(1, []byte(name)), len(value)+size), value...)
	return &resource.Part{Hash: hashOf(b), Bytes: [][]byte{b}, Size: len(b)}
}

// entries is an extension with a part for each requirement.
func entries(name string, requirement ...string) resource.Resource {
	var rest []*resource.Part
	for _, r := range requirement {
		p := part(r, requirements(r), nil)
		p.Fragments = []resource.Fragment{{Origin: rule(r), Hash: p.Hash}}
		rest = append(rest, p)
	}
	return whole(append(rest, entriesHead(name, rest))...)
}

// limit lets as many requests pass in an hour. One that is bad is refilled faster than Envoy takes.
func limit(n uint32, bad bool) *limitv3.LocalRateLimit {
	fill := time.Hour
	if bad {
		fill = time.Millisecond
	}
	all := &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{Numerator: 100}}
	return &limitv3.LocalRateLimit{
		StatPrefix: "limits", FilterEnabled: all, FilterEnforced: all,
		TokenBucket: &typev3.TokenBucket{
			MaxTokens: n, TokensPerFill: wrapperspb.UInt32(n), FillInterval: durationpb.New(fill),
		},
	}
}

// requirements are what a filter of JSON web tokens may be told to look for; each lets everything pass.
func requirements(names ...string) *jwtv3.JwtAuthentication {
	m := &jwtv3.JwtAuthentication{RequirementMap: map[string]*jwtv3.JwtRequirement{}}
	for _, n := range names {
		m.RequirementMap[n] = &jwtv3.JwtRequirement{
			RequiresType: &jwtv3.JwtRequirement_AllowMissingOrFailed{AllowMissingOrFailed: &emptypb.Empty{}},
		}
	}
	return m
}

// extended has filters that are off and are configured by extensions of their names; what they do by default is in m.
func extended(filters map[string]proto.Message) func(*listenerv3.Listener, *hcmv3.HttpConnectionManager) {
	return func(_ *listenerv3.Listener, h *hcmv3.HttpConnectionManager) {
		source := adsSource()
		source.InitialFetchTimeout = durationpb.New(2 * time.Second)
		for name, m := range filters {
			h.HttpFilters = append([]*hcmv3.HttpFilter{{
				Name: name, Disabled: true,
				ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
					ConfigSource: source, DefaultConfig: mustAny(m),
					TypeUrls: []string{strings.TrimPrefix(mustAny(m).TypeUrl, "type.googleapis.com/")},
				}},
			}}, h.HttpFilters...)
		}
	}
}

var (
	limited  = extended(map[string]proto.Message{"limits": &limitv3.LocalRateLimit{StatPrefix: "limits"}})
	verified = extended(map[string]proto.Message{"jwt": requirements()})
)

// needing adds that a resource needs extensions.
func needing(r resource.Resource, names ...string) resource.Resource {
	p := *r.Parts[0]
	for _, n := range names {
		p.Needs = append(p.Needs, resource.Name{Type: xdstypes.Extension, Name: n})
	}
	parts := append([]*resource.Part{&p}, r.Parts[1:]...)
	r.Parts = parts
	return r
}

// enabled is a table that answers by itself, behind a filter with that configuration for the table.
func enabled(name, body, filter string, m proto.Message) resource.Resource {
	return needing(single(model.KindHTTPRoute, name, &routev3.RouteConfiguration{
		Name: name, TypedPerFilterConfig: map[string]*anypb.Any{filter: mustAny(m)},
		VirtualHosts: []*routev3.VirtualHost{{Name: "all", Domains: []string{"*"}, Routes: []*routev3.Route{{
			Match: hostRule{}.route().Match, Action: direct(200, body),
		}}}},
	}), filter)
}

// on is a filter that is as its extension says.
var on = &routev3.FilterConfig{Config: &anypb.Any{}}

func requires(name string) *jwtv3.PerRouteConfig {
	return &jwtv3.PerRouteConfig{RequirementSpecifier: &jwtv3.PerRouteConfig_RequirementName{RequirementName: name}}
}

// same calls and wants these answers, in this order.
func calls(t *testing.T, port int, want ...string) {
	t.Helper()
	for i, w := range want {
		if got := call(port, "x.test", "/"); !strings.HasPrefix(got, w) {
			t.Fatalf("call %d answers %q, want %q", i, got, w)
		}
	}
}

// limitedWorld has a listener and a table whose requests are limited.
func limitedWorld(t *testing.T, n uint32, bad bool) (w *world, p *proxy, port int) {
	w = newWorld(t)
	port = freePorts(t, 1)[0]
	w.sync(func(e edits) {
		e.set(xdstypes.Extension, "limits", extension("limits", limit(n, bad)))
		e.set(xdstypes.Listener, "l", needing(listener("l", port, "t", limited), "limits"))
		e.set(xdstypes.Routes, "t", enabled("t", "a", "limits", on))
	})
	p = startEnvoy(t, w)
	p.live()
	eventually(t, "whole", func() bool { return w.proxies().Acknowledged == 1 })
	return w, p, port
}

// An edit of a table, of a cluster, or of another listener leaves the state of a filter as it is; and so does a
// reconnect of the proxy.
func TestEditsKeepTheStateOfExtensions(t *testing.T) {
	w, _, port := limitedWorld(t, 3, false)
	calls(t, port, "200 a", "200 a", "200 a", "429")
	w.turn(func(e edits) { e.set(xdstypes.Routes, "t", enabled("t", "b", "limits", on)) })
	eventually(t, "the table is there",
		ackedFragment(w, xdstypes.Routes, "t", enabled("t", "b", "limits", on)))
	calls(t, port, "429")
	other := freePorts(t, 1)[0]
	w.turn(func(e edits) {
		e.set(xdstypes.Listener, "m", needing(listener("m", other, "u", limited), "limits"))
		e.set(xdstypes.Routes, "u", enabled("u", "u", "limits", on))
	})
	answers(t, other, "x.test", "/", "200 u")
	calls(t, port, "429")

	w.grpc.Stop()
	w.listen()
	eventually(t, "it is back", func() bool { return w.proxies().Acknowledged == 1 })
	w.turn(func(e edits) { e.set(xdstypes.Routes, "t", enabled("t", "c", "limits", on)) })
	eventually(t, "the table is there",
		ackedFragment(w, xdstypes.Routes, "t", enabled("t", "c", "limits", on)))
	calls(t, port, "429")
	if got := w.metrics()["cardea_xds_resources_total/Extension"]; got != 1 {
		t.Errorf("%v extensions were sent, want 1", got)
	}
	// Its own edit counts anew.
	w.turn(func(e edits) { e.set(xdstypes.Extension, "limits", extension("limits", limit(4, false))) })
	answers(t, port, "x.test", "/", "200 c")
}

// A refused extension stays as it was accepted, and later edits of all else go through: of the table, of the listener
// that names it, of other extensions.
func TestARefusedExtensionHurtsOnlyItself(t *testing.T) {
	w, p, port := limitedWorld(t, 3, false)
	calls(t, port, "200 a")
	w.turn(func(e edits) { e.set(xdstypes.Extension, "limits", extension("limits", limit(5, true))) })
	eventually(t, "it is refused", func() bool {
		return w.refusals()["limits"].Type == xdstypes.Extension && w.refusals()["limits"].Message != ""
	})
	eventually(t, "what was accepted is there again", func() bool {
		return w.metrics()["cardea_xds_acks_total/Extension"] == 2
	})
	other := freePorts(t, 1)[0]
	w.turn(func(e edits) {
		e.set(xdstypes.Listener, "l", needing(listener("l", port, "t", limited, noFetchTimeout), "limits"))
		e.set(xdstypes.Listener, "m", needing(listener("m", other, "u", limited, verified), "limits", "jwt"))
		e.set(xdstypes.Extension, "jwt", extension("jwt", requirements("r")))
		e.set(xdstypes.Routes, "t", enabled("t", "b", "limits", on))
		e.set(xdstypes.Routes, "u", enabled("u", "u", "jwt", requires("r")))
	})
	answers(t, other, "x.test", "/", "200 u")
	eventually(t, "the listeners are accepted", func() bool {
		return p.stat("listener_manager.listener_modified") == 1 && p.stat("listener_manager.total_listeners_active") == 2
	})
	calls(t, port, "200 b", "200 b", "200 b", "429")
	m := w.metrics()
	if m["cardea_xds_nacks_total/Extension"] != 1 || m["cardea_xds_nacks_total/Listener"] != 0 || len(w.refusals()) != 1 {
		t.Errorf("%v extensions and %v listeners were refused: %v", m["cardea_xds_nacks_total/Extension"],
			m["cardea_xds_nacks_total/Listener"], w.refusals())
	}
	w.turn(func(e edits) { e.set(xdstypes.Extension, "limits", extension("limits", limit(1, false))) })
	eventually(t, "nothing is refused", func() bool { return len(w.refusals()) == 0 })
	answers(t, port, "x.test", "/", "200 b")
	calls(t, port, "429")
}

// An extension that is bad from the start leaves the listeners' default, and later edits of listeners get through.
func TestABadExtensionAtTheStart(t *testing.T) {
	w, p, port := limitedWorld(t, 1, true)
	eventually(t, "it is refused", func() bool { return w.refusals()["limits"].Message != "" })
	calls(t, port, "200 a", "200 a", "200 a")
	w.turn(func(e edits) {
		e.set(xdstypes.Listener, "l", needing(listener("l", port, "t", limited, noFetchTimeout), "limits"))
	})
	eventually(t, "the listener is accepted", func() bool { return p.stat("listener_manager.listener_modified") == 1 })
	calls(t, port, "200 a", "200 a", "200 a")
	if got := w.metrics()["cardea_xds_nacks_total/Listener"]; got != 0 {
		t.Errorf("%v listeners were refused", got)
	}
	w.turn(func(e edits) { e.set(xdstypes.Extension, "limits", extension("limits", limit(1, false))) })
	eventually(t, "nothing is refused", func() bool { return len(w.refusals()) == 0 })
	answers(t, port, "x.test", "/", "429 local_rate_limited")
}

// An extension that there is not yet holds no proxy for long, and serves when it is there.
func TestALateExtension(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	w.sync(func(e edits) {
		e.set(xdstypes.Listener, "l", needing(listener("l", port, "t", limited), "limits"))
		e.set(xdstypes.Routes, "t", enabled("t", "a", "limits", on))
	})
	startEnvoy(t, w).live()
	eventually(t, "whole", func() bool { return w.proxies().Acknowledged == 1 })
	calls(t, port, "200 a", "200 a", "200 a")
	w.turn(func(e edits) { e.set(xdstypes.Extension, "limits", extension("limits", limit(1, false))) })
	answers(t, port, "x.test", "/", "429 local_rate_limited")
}

// A requirement comes with the table that names it, in one turn, and the former one leaves: no request is answered by
// what a filter does about a name that it does not know.
func TestExtensionsComeBeforeTables(t *testing.T) {
	w := newWorld(t)
	port := freePorts(t, 1)[0]
	w.sync(func(e edits) {
		e.set(xdstypes.Extension, "jwt", entries("jwt", "r0"))
		e.set(xdstypes.Listener, "l", needing(listener("l", port, "t", verified), "jwt"))
		e.set(xdstypes.Routes, "t", enabled("t", "a", "jwt", requires("r0")))
	})
	startEnvoy(t, w).live()
	answers(t, port, "x.test", "/", "200 a")
	f := startTraffic(port, "x.test", "y.test", "z.test")
	for i := range 20 {
		w.turn(func(e edits) {
			e.set(xdstypes.Extension, "jwt", entries("jwt", fmt.Sprint("r", i+1), "other"))
			e.set(xdstypes.Routes, "t", enabled("t", "a", "jwt", requires(fmt.Sprint("r", i+1))))
		})
		f.called(t, 30)
	}
	f.stop(t)
	eventually(t, "what left is gone", func() bool {
		offered, apart := w.server.FindOffer(resource.Key{Gateway: gateway, Type: xdstypes.Extension, Name: "jwt"})
		return !apart && offered == nil && w.acked(xdstypes.Extension, "jwt", rule("r20")) != 0
	})
	w.turn(func(e edits) { e.set(xdstypes.Routes, "t", enabled("t", "a", "jwt", requires("r20x"))) })
	answers(t, port, "x.test", "/",
		"403 Failed JWT authentication: Wrong requirement_name: r20x. It should be one of [other,r20]")
}

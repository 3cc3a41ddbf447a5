package envoy

import (
	"slices"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	leastrequestv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	overridehostv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/override_host/v3"
	subsetv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/subset/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// servedKey is where a picker is told, with the answer, which endpoint a request went to.
const servedKey = model.DestinationHeader + "-served"

// subsetSpace is the namespace of metadata that may tell a picker among which endpoints to choose.
const subsetSpace = model.DestinationSpace + ".subset_hint"

// Settings of pickers.
const (
	pickerConnectTimeout = 250 * time.Millisecond
	pickerCheckInterval  = time.Second
	pickerCheckTimeout   = 500 * time.Millisecond
	pickerAnswerTimeout  = time.Second // of each message, where Envoy knows one
	otherEndpoints       = 3           // that are tried after the first one can't be connected to
)

// picking asks a pool's picker which endpoint gets a request. A client's headers about it are removed first, also where
// there is no picker: a pod gets no word about it that the picker did not say.
//
// headOnly: it is sent the head of the request and nothing of its body.
func picking(b model.WeightedBackend, headOnly bool) []plan.Setting {
	if b.Pool == nil {
		return nil
	}
	list := []plan.Setting{httpfilters.Set(httpfilters.Picker, "strip", removing([]string{model.DestinationHeader}))}
	if !b.Pool.Picked() {
		return list
	}
	return append(list, httpfilters.Set(httpfilters.Picker, "pick", &extprocv3.ExternalProcessor{
		GrpcService: &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
			EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: clusterName(model.PickerOf(b.Backend.Object))},
		}},
		FailureModeAllow: b.Pool.FailOpen,
		StatusOnError:    &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable},
		// The pool was chosen by weight; another choice would be that of another picker.
		RouteCacheAction: extprocv3.ExternalProcessor_RETAIN,
		ProcessingMode:   processing(*b.Pool, headOnly),
		// Cardea's picker does not wait for a body that it does not read: the end of the body may wait for the answer.
		AllowModeOverride: b.Pool.Partial && b.Pool.Own,
		MessageTimeout:    seconds(pickerAnswerTimeout),
		MetadataOptions: &extprocv3.MetadataOptions{
			ForwardingNamespaces: namespaces(model.DestinationSpace, subsetSpace),
			ReceivingNamespaces:  namespaces(model.DestinationSpace),
		},
	}))
}

func namespaces(names ...string) *extprocv3.MetadataOptions_MetadataNamespaces {
	return &extprocv3.MetadataOptions_MetadataNamespaces{Untyped: names}
}

// processing is what a picker is sent. It gets the headers of the answer, with the endpoint that serves it, and nothing
// that comes later: so an answer that is under way does not end with a picker that sends bodies back. With trailers it
// would, also where the proxy may go on without the picker.
func processing(p model.Pool, headOnly bool) *extprocv3.ProcessingMode {
	mode := &extprocv3.ProcessingMode{
		RequestHeaderMode: extprocv3.ProcessingMode_SEND, ResponseHeaderMode: extprocv3.ProcessingMode_SEND,
		RequestBodyMode:    extprocv3.ProcessingMode_FULL_DUPLEX_STREAMED,
		RequestTrailerMode: extprocv3.ProcessingMode_SEND, // the mode of the body needs it
	}
	switch {
	case headOnly:
		mode.RequestBodyMode = extprocv3.ProcessingMode_NONE
		mode.RequestTrailerMode = extprocv3.ProcessingMode_SKIP
	case p.Partial:
		mode.RequestBodyMode = extprocv3.ProcessingMode_BUFFERED_PARTIAL
		mode.RequestTrailerMode = extprocv3.ProcessingMode_SKIP
	}
	return mode
}

// toWebSocket compares what a request asks to become. A WebSocket's body begins after the answer, so whoever waits for
// its end before the request goes on waits for ever. HTTP/2's CONNECT for one has the header, too, once it is read.
func toWebSocket() *routev3.HeaderMatcher {
	return headerMatch("upgrade", &matcherv3.StringMatcher{
		MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "websocket"}, IgnoreCase: true,
	})
}

// tryOthers has a request that can't be connected to its endpoint go to the next one that the picker named. It adds to
// what is stated of retries, and turns nothing on that is turned off.
func tryOthers(route *routev3.Route) {
	action := route.GetRoute()
	if action == nil {
		return
	}
	policy := action.GetRetryPolicy()
	if policy == nil {
		policy = &routev3.RetryPolicy{NumRetries: wrapperspb.UInt32(otherEndpoints)}
		action.RetryPolicy = policy
	} else if policy.GetNumRetries() != nil && policy.GetNumRetries().GetValue() == 0 {
		return
	}
	on := strings.FieldsFunc(policy.GetRetryOn(), func(r rune) bool { return r == ',' })
	for _, condition := range []string{"connect-failure", "reset-before-request"} {
		if !slices.Contains(on, condition) {
			on = append(on, condition)
		}
	}
	policy.RetryOn = strings.Join(on, ",")
}

// choosing is how a pool's endpoints are chosen; nil for a backend that is none. Where nobody picks, or may be gone
// without, the proxy chooses, by what policies state or the number of requests. Where the picker has to answer, there
// is nothing to fall back to: a request without its word, or for an endpoint that is not the pool's, gets a 503.
func choosing(p *model.Pool, stated *clusterv3.LoadBalancingPolicy) *clusterv3.LoadBalancingPolicy {
	if p == nil {
		return nil
	}
	own := stated
	if own == nil {
		own = balancing("least_request", &leastrequestv3.LeastRequest{})
	}
	if !p.Picked() {
		return own
	}
	if !p.FailOpen {
		own = balancing("none", &subsetv3.Subset{
			FallbackPolicy: subsetv3.Subset_NO_FALLBACK, SubsetLbPolicy: own,
		})
	}
	key := func(name string) *metadatav3.MetadataKey {
		return &metadatav3.MetadataKey{Key: model.DestinationSpace, Path: []*metadatav3.MetadataKey_PathSegment{{
			Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: name},
		}}}
	}
	return balancing("picked", &overridehostv3.OverrideHost{
		OverrideHostSources: []*overridehostv3.OverrideHost_OverrideHostSource{
			{Metadata: key(model.DestinationHeader)}, {Header: model.DestinationHeader},
		},
		SelectedHostKey: key(servedKey),
		FallbackPolicy:  own,
	})
}

func balancing(name string, config proto.Message) *clusterv3.LoadBalancingPolicy {
	return &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
		TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: name, TypedConfig: mustAny(config)},
	}}}
}

// pickerCluster is the cluster of a pool's picker. A picker that does not accept connections is not asked: Envoy fails
// open only while no endpoint is healthy, since a request is lost once its body was handed over.
func pickerCluster(b model.Backend) *clusterv3.Cluster {
	c := commonCluster(b.Protocol)
	proto.Merge(c, renderCluster(b))
	c.ConnectTimeout = seconds(pickerConnectTimeout)
	c.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{}}
	c.IgnoreHealthOnHostRemoval = true
	c.HealthChecks = []*corev3.HealthCheck{{
		Timeout: seconds(pickerCheckTimeout), Interval: seconds(pickerCheckInterval),
		NoTrafficInterval: seconds(pickerCheckInterval), UnhealthyThreshold: wrapperspb.UInt32(1),
		HealthyThreshold: wrapperspb.UInt32(1),
		HealthChecker:    &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: &corev3.HealthCheck_TcpHealthCheck{}},
	}}
	return c
}

package route

import (
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
)

// ServedKey is where a picker is told, with the answer, which endpoint a request went to.
const ServedKey = model.DestinationHeader + "-served"

// Settings of pickers.
const (
	pickerMessageTimeout = time.Second // of each message, where Envoy knows one
	maxOtherEndpoints    = 3           // that are tried after the first one can't be connected to
)

// subsetNamespace is the namespace of metadata that may tell a picker among which endpoints to choose.
const subsetNamespace = model.DestinationNamespace + ".subset_hint"

// pickerSettings asks a pool's picker which endpoint gets a request. A client's headers about it are removed first,
// also where there is no picker: a pod gets no word about it that the picker did not say.
//
// headOnly: it is sent the head of the request and nothing of its body.
func pickerSettings(b model.WeightedBackend, headOnly bool) []plan.Setting {
	if b.Pool == nil {
		return nil
	}
	list := []plan.Setting{httpfilters.NewSetting(httpfilters.Picker, "strip",
		RemoveHeaders([]string{model.DestinationHeader}))}
	if !b.Pool.HasPicker() {
		return list
	}
	return append(list, httpfilters.NewSetting(httpfilters.Picker, "pick", &extprocv3.ExternalProcessor{
		GrpcService: &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
			EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: naming.Cluster(model.PickerKey(b.Backend.Object))},
		}},
		FailureModeAllow: b.Pool.FailOpen,
		StatusOnError:    &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable},
		// The pool was chosen by weight; another choice would be that of another picker.
		RouteCacheAction: extprocv3.ExternalProcessor_RETAIN,
		ProcessingMode:   processingMode(*b.Pool, headOnly),
		// Cardea's picker does not wait for a body that it does not read: the end of the body may wait for the answer.
		AllowModeOverride: b.Pool.Partial && b.Pool.Own,
		MessageTimeout:    durationpb.New(pickerMessageTimeout),
		MetadataOptions: &extprocv3.MetadataOptions{
			ForwardingNamespaces: metadataNamespaces(model.DestinationNamespace, subsetNamespace),
			ReceivingNamespaces:  metadataNamespaces(model.DestinationNamespace),
		},
	}))
}

func metadataNamespaces(names ...string) *extprocv3.MetadataOptions_MetadataNamespaces {
	return &extprocv3.MetadataOptions_MetadataNamespaces{Untyped: names}
}

// processingMode is what a picker is sent. It gets the headers of the answer, with the endpoint that serves it, and
// nothing that comes later: so an answer that is under way does not end with a picker that sends bodies back. With
// trailers it would, also where the proxy may go on without the picker.
func processingMode(p model.Pool, headOnly bool) *extprocv3.ProcessingMode {
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

// webSocketMatcher compares what a request asks to become. A WebSocket's body begins after the answer, so whoever waits
// for its end before the request goes on waits for ever. HTTP/2's CONNECT for one has the header, too, once it is read.
func webSocketMatcher() *routev3.HeaderMatcher {
	return headerMatch("upgrade", &matcherv3.StringMatcher{
		MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "websocket"}, IgnoreCase: true,
	})
}

// retryOtherEndpoints has a request that can't be connected to its endpoint go to the next one that the picker named.
// It adds to what is stated of retries, and turns nothing on that is turned off.
func retryOtherEndpoints(route *routev3.Route) {
	action := route.GetRoute()
	if action == nil {
		return
	}
	policy := action.GetRetryPolicy()
	if policy == nil {
		policy = &routev3.RetryPolicy{NumRetries: wrapperspb.UInt32(maxOtherEndpoints)}
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

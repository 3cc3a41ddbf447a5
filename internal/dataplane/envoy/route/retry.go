package route

import (
	"math"
	"strings"

	mutationrulesv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/naming"
)

// maxOtherHosts is how often a retry looks for an endpoint that has not failed yet.
const maxOtherHosts = 5

// retryPolicy renders when a request is tried again, and how long each attempt may take; nil if neither is stated.
//
// A connection that was never made, and a stream that the backend refused, are tried again; one that broke after the
// request was sent is not, as the backend may have worked on it. But Envoy knows no way to try again after a timeout
// alone: where the user bounds attempts, one that was reset is tried again, too.
func retryPolicy(t model.Timeouts, r *model.Retry) *routev3.RetryPolicy {
	if t.Backend == 0 && r == nil {
		return nil
	}
	p := &routev3.RetryPolicy{}
	if t.Backend > 0 {
		p.PerTryTimeout = durationpb.New(t.Backend)
	}
	if r == nil {
		p.NumRetries = wrapperspb.UInt32(0)
		return p
	}
	on := []string{"connect-failure", "refused-stream"}
	if t.Backend > 0 {
		on = append(on, "reset")
	}
	if len(r.Codes) > 0 {
		on = append(on, "retriable-status-codes")
	}
	p.RetryOn, p.RetriableStatusCodes, p.NumRetries = strings.Join(on, ","), r.Codes, wrapperspb.UInt32(r.Attempts)
	if r.Backoff > 0 {
		p.RetryBackOff = &routev3.RetryPolicy_RetryBackOff{BaseInterval: durationpb.New(r.Backoff)}
	}
	p.RetryHostPredicate = []*routev3.RetryPolicy_RetryHostPredicate{{
		Name: "envoy.retry_host_predicates.previous_hosts",
		ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{TypedConfig: message.MustAny(
			&previoushostsv3.PreviousHostsPredicate{},
		)},
	}}
	p.HostSelectionRetryMaxAttempts = maxOtherHosts
	return p
}

// MirrorPolicies renders where copies of requests go. Host stays as it was sent.
func MirrorPolicies(list []model.Mirror) []*routev3.RouteAction_RequestMirrorPolicy {
	var policies []*routev3.RouteAction_RequestMirrorPolicy
	for _, m := range list {
		policy := &routev3.RouteAction_RequestMirrorPolicy{Cluster: naming.Cluster(m.Backend),
			DisableShadowHostSuffixAppend: true}
		if m.External {
			policy.RequestHeadersMutations = []*mutationrulesv3.HeaderMutation{{
				Action: &mutationrulesv3.HeaderMutation_Append{Append: &corev3.HeaderValueOption{
					Header: extendenvoy.LastHop(), AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
				}},
			}}
		}
		if m.Numerator < m.Denominator {
			// The nearest that Envoy knows; a share that is stated is not nothing.
			share := math.Round(float64(m.Numerator) / float64(m.Denominator) * wholeShare)
			policy.RuntimeFraction = runtimeFraction(uint32(max(share, 1)), typev3.FractionalPercent_MILLION)
		}
		policies = append(policies, policy)
	}
	return policies
}

package healthcheck

import (
	"encoding/hex"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

// renderBackend states that a backend without traffic is asked as often as others; Envoy would ask it once in a minute.
func renderBackend(e envoy.Backend, v Value) {
	check := &corev3.HealthCheck{
		Timeout:            durationpb.New(v.Timeout),
		Interval:           durationpb.New(v.Interval),
		NoTrafficInterval:  durationpb.New(v.Interval),
		UnhealthyThreshold: wrapperspb.UInt32(v.Unhealthy),
		HealthyThreshold:   wrapperspb.UInt32(v.Healthy),
	}
	if v.Jitter > 0 {
		check.IntervalJitter = durationpb.New(v.Jitter)
	}
	switch {
	case v.HTTP != nil:
		check.HealthChecker = &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: v.HTTP.httpCheck()}
	case v.GRPC != nil:
		check.HealthChecker = &corev3.HealthCheck_GrpcHealthCheck_{
			GrpcHealthCheck: &corev3.HealthCheck_GrpcHealthCheck{ServiceName: *v.GRPC},
		}
	case v.TCP != nil:
		check.HealthChecker = &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: v.TCP.tcpCheck()}
		// A backend may close the connection after its answer, which would count as a failure of the next check.
		check.ReuseConnection = wrapperspb.Bool(false)
	default:
		return
	}
	e.Cluster(&clusterv3.Cluster{HealthChecks: []*corev3.HealthCheck{check}})
}

func (q Request) httpCheck() *corev3.HealthCheck_HttpHealthCheck {
	return &corev3.HealthCheck_HttpHealthCheck{
		Host: q.Host, Path: q.Path,
		Method:           corev3.RequestMethod(corev3.RequestMethod_value[q.Method]),
		ExpectedStatuses: protoRanges(q.Expected), RetriableStatuses: protoRanges(q.retriableRanges()),
	}
}

// retriableRanges are statuses that count towards the threshold. Envoy takes an endpoint out at once for any other that
// is not expected, and lets what is expected count before what is retriable.
func (q Request) retriableRanges() []Range {
	if len(q.Retriable) == 0 {
		return []Range{{First: 100, Last: 599}}
	}
	return q.Retriable
}

// protoRanges: Envoy's end before their last number.
func protoRanges(list []Range) (all []*typev3.Int64Range) {
	for _, r := range list {
		all = append(all, &typev3.Int64Range{Start: r.First, End: r.Last + 1})
	}
	return all
}

func (x Exchange) tcpCheck() *corev3.HealthCheck_TcpHealthCheck {
	c := &corev3.HealthCheck_TcpHealthCheck{}
	if x.Send != "" {
		c.Send = hexPayload(x.Send)
	}
	if x.Receive != "" {
		c.Receive = []*corev3.HealthCheck_Payload{hexPayload(x.Receive)}
	}
	return c
}

// hexPayload is hexadecimal: Envoy 1.40 sends nothing of a binary one.
func hexPayload(text string) *corev3.HealthCheck_Payload {
	return &corev3.HealthCheck_Payload{
		Payload: &corev3.HealthCheck_Payload_Text{Text: hex.EncodeToString([]byte(text))},
	}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Backend: renderBackend})

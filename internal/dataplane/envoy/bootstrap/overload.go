package bootstrap

import (
	"time"

	"cardea.dev/cardea/internal/dataplane/envoy/message"
	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	downstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	fixedheapv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	heapMonitor = "envoy.resource_monitors.fixed_heap"
	// heapPercent is what of a proxy's memory its heap may have; the rest is for what is no heap.
	heapPercent = 90
	// fullHeap is what the heap may have, as a share of Envoy's maximum. Streams are ended when this share changes, but
	// not beyond the maximum: there a proxy with full memory would stay so, and answer 503 to everybody.
	fullHeap = 0.5
	// trackedStream is the power of two of the bytes from which on a stream's buffers are tracked: seven times as much is
	// the window of a stream of HTTP/2, which is about all that one can hold.
	trackedStream      = 10
	reducedIdleTimeout = 2 * time.Second
	refreshHeap        = 100 * time.Millisecond
)

// overloadManager bounds what a whole Envoy takes: the clients' connections (the admin interface is not counted), and
// its heap if memory, in bytes, is not 0. As the heap fills up, memory is given back and idle connections are closed;
// then the streams with the largest buffers end, new requests are answered 503, and at last new connections are closed.
func overloadManager(memory int64) *overloadv3.OverloadManager {
	m := &overloadv3.OverloadManager{ResourceMonitors: []*overloadv3.ResourceMonitor{
		resourceMonitor("envoy.resource_monitors.global_downstream_max_connections",
			&downstreamv3.DownstreamConnectionsConfig{
				MaxActiveDownstreamConnections: message.MaxConnections,
			}),
	}}
	if memory <= 0 {
		return m
	}
	m.RefreshInterval = durationpb.New(refreshHeap)
	m.ResourceMonitors = append(m.ResourceMonitors, resourceMonitor(heapMonitor, &fixedheapv3.FixedHeapConfig{
		MaxHeapSizeBytes: uint64(float64(memory) / 100 * heapPercent / fullHeap),
	}))
	m.BufferFactoryConfig = &overloadv3.BufferFactoryConfig{MinimumAccountToTrackPowerOfTwo: trackedStream}
	shorter := heapAction("reduce_timeouts", scaledTrigger(0.85*fullHeap, 0.95*fullHeap))
	shorter.TypedConfig = message.MustAny(&overloadv3.ScaleTimersOverloadActionConfig{
		TimerScaleFactors: []*overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer{{
			Timer: overloadv3.ScaleTimersOverloadActionConfig_HTTP_DOWNSTREAM_CONNECTION_IDLE,
			OverloadAdjust: &overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer_MinTimeout{
				MinTimeout: durationpb.New(reducedIdleTimeout),
			},
		}},
	})
	m.Actions = []*overloadv3.OverloadAction{
		shorter,
		heapAction("reset_high_memory_stream", scaledTrigger(0.85*fullHeap, 1)),
		heapAction("shrink_heap", thresholdTrigger(0.9*fullHeap)),
		heapAction("disable_http_keepalive", thresholdTrigger(0.92*fullHeap)),
		heapAction("stop_accepting_requests", thresholdTrigger(0.95*fullHeap)),
		heapAction("reject_incoming_connections", thresholdTrigger(0.98*fullHeap)),
	}
	return m
}

func resourceMonitor(name string, config proto.Message) *overloadv3.ResourceMonitor {
	return &overloadv3.ResourceMonitor{
		Name: name, ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: message.MustAny(config)},
	}
}

// heapAction is done when the heap is as full as the trigger says.
func heapAction(name string, t *overloadv3.Trigger) *overloadv3.OverloadAction {
	return &overloadv3.OverloadAction{Name: "envoy.overload_actions." + name, Triggers: []*overloadv3.Trigger{t}}
}

// thresholdTrigger triggers when more than a share of the maximum is used.
func thresholdTrigger(share float64) *overloadv3.Trigger {
	return &overloadv3.Trigger{Name: heapMonitor, TriggerOneof: &overloadv3.Trigger_Threshold{
		Threshold: &overloadv3.ThresholdTrigger{Value: share},
	}}
}

// scaledTrigger triggers more and more, from one share of the maximum to another.
func scaledTrigger(from, to float64) *overloadv3.Trigger {
	return &overloadv3.Trigger{Name: heapMonitor, TriggerOneof: &overloadv3.Trigger_Scaled{
		Scaled: &overloadv3.ScaledTrigger{ScalingThreshold: from, SaturationThreshold: to},
	}}
}

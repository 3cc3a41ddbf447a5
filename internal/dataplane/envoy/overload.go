package envoy

import (
	"time"

	overloadv3 "github.com/envoyproxy/go-control-plane/envoy/config/overload/v3"
	downstreamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/downstream_connections/v3"
	fixedheapv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/resource_monitors/fixed_heap/v3"
	"google.golang.org/protobuf/proto"
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
	trackedStream = 10
	idleInNeed    = 2 * time.Second
	refreshHeap   = 100 * time.Millisecond
)

// overload bounds what a whole Envoy takes: the clients' connections (the admin interface is not counted), and its heap
// if memory, in bytes, is not 0. As the heap fills up, memory is given back and idle connections are closed; then the
// streams with the largest buffers end, new requests are answered 503, and at last new connections are closed.
func overload(memory int64) *overloadv3.OverloadManager {
	m := &overloadv3.OverloadManager{ResourceMonitors: []*overloadv3.ResourceMonitor{
		monitor("envoy.resource_monitors.global_downstream_max_connections", &downstreamv3.DownstreamConnectionsConfig{
			MaxActiveDownstreamConnections: maxConnections,
		}),
	}}
	if memory <= 0 {
		return m
	}
	m.RefreshInterval = seconds(refreshHeap)
	m.ResourceMonitors = append(m.ResourceMonitors, monitor(heapMonitor, &fixedheapv3.FixedHeapConfig{
		MaxHeapSizeBytes: uint64(float64(memory) / 100 * heapPercent / fullHeap),
	}))
	m.BufferFactoryConfig = &overloadv3.BufferFactoryConfig{MinimumAccountToTrackPowerOfTwo: trackedStream}
	shorter := action("reduce_timeouts", scaled(0.85*fullHeap, 0.95*fullHeap))
	shorter.TypedConfig = mustAny(&overloadv3.ScaleTimersOverloadActionConfig{
		TimerScaleFactors: []*overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer{{
			Timer: overloadv3.ScaleTimersOverloadActionConfig_HTTP_DOWNSTREAM_CONNECTION_IDLE,
			OverloadAdjust: &overloadv3.ScaleTimersOverloadActionConfig_ScaleTimer_MinTimeout{
				MinTimeout: seconds(idleInNeed),
			},
		}},
	})
	m.Actions = []*overloadv3.OverloadAction{
		shorter,
		action("reset_high_memory_stream", scaled(0.85*fullHeap, 1)),
		action("shrink_heap", above(0.9*fullHeap)),
		action("disable_http_keepalive", above(0.92*fullHeap)),
		action("stop_accepting_requests", above(0.95*fullHeap)),
		action("reject_incoming_connections", above(0.98*fullHeap)),
	}
	return m
}

func monitor(name string, config proto.Message) *overloadv3.ResourceMonitor {
	return &overloadv3.ResourceMonitor{
		Name: name, ConfigType: &overloadv3.ResourceMonitor_TypedConfig{TypedConfig: mustAny(config)},
	}
}

// action is done when the heap is as full as the trigger says.
func action(name string, t *overloadv3.Trigger) *overloadv3.OverloadAction {
	return &overloadv3.OverloadAction{Name: "envoy.overload_actions." + name, Triggers: []*overloadv3.Trigger{t}}
}

// above triggers when more than a share of the maximum is used.
func above(share float64) *overloadv3.Trigger {
	return &overloadv3.Trigger{Name: heapMonitor, TriggerOneof: &overloadv3.Trigger_Threshold{
		Threshold: &overloadv3.ThresholdTrigger{Value: share},
	}}
}

// scaled triggers more and more, from one share of the maximum to another.
func scaled(from, to float64) *overloadv3.Trigger {
	return &overloadv3.Trigger{Name: heapMonitor, TriggerOneof: &overloadv3.Trigger_Scaled{
		Scaled: &overloadv3.ScaledTrigger{ScalingThreshold: from, SaturationThreshold: to},
	}}
}

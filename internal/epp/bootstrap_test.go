package epp

import (
	"net"
	"strconv"
)

type object = map[string]any

func typed(name string, fields object) object {
	fields["@type"] = "type.googleapis.com/envoy.extensions." + name
	return fields
}

func address(endpoint string) object {
	host, port, _ := net.SplitHostPort(endpoint)
	n, _ := strconv.Atoi(port)
	return object{"socket_address": object{"address": host, "port_value": n}}
}

// bootstrap is a static configuration as gateways make it for a pool, with a listener for each mode of bodies.
func (r *rig) bootstrap(socket string) object {
	var listeners []any
	add := func(name string, filters ...object) { listeners = append(listeners, listener(name, filters)) }
	strip := object{"name": "strip", "typed_config": typed("filters.http.header_mutation.v3.HeaderMutation", object{
		"mutations": object{"request_mutations": []any{object{"remove": destinationKey}}},
	})}
	add("duplex", strip, extProc(object{
		"request_body_mode": "FULL_DUPLEX_STREAMED", "response_body_mode": "FULL_DUPLEX_STREAMED",
	}, true))
	add("duplex-request", strip, extProc(object{"request_body_mode": "FULL_DUPLEX_STREAMED"}, true))
	add("closed", strip, extProc(object{"request_body_mode": "FULL_DUPLEX_STREAMED"}, false))
	add("buffered", strip, extProc(object{"request_body_mode": "BUFFERED", "response_body_mode": "BUFFERED"}, true))
	add("partial", strip, extProc(object{"request_body_mode": "BUFFERED_PARTIAL", "response_body_mode": "STREAMED"}, true))
	add("streamed", strip, extProc(object{"request_body_mode": "STREAMED"}, true))
	add("none", strip, extProc(object{}, true))
	only := func(endpoints ...any) object {
		return object{"name": "only", "typed_config": typed("filters.http.set_metadata.v3.Config", object{
			"metadata": []any{object{"metadata_namespace": subsetNamespace, "value": object{subsetKey: endpoints}}},
		})}
	}
	add("only-third", only(r.servers[2]), extProc(object{"request_body_mode": "FULL_DUPLEX_STREAMED"}, true))
	add("only-another", only("10.9.9.9:80"), extProc(object{"request_body_mode": "FULL_DUPLEX_STREAMED"}, true))
	return object{
		"node":             object{"id": "picker", "cluster": "test"},
		"admin":            object{"address": object{"pipe": object{"path": socket}}},
		"static_resources": object{"listeners": listeners, "clusters": []any{r.poolCluster(), r.pickerCluster()}},
	}
}

func listener(name string, filters []object) object {
	filters = append(filters, object{"name": "router", "typed_config": typed("filters.http.router.v3.Router", object{})})
	route := object{
		"match": object{"prefix": "/"},
		"route": object{
			"cluster": "pool", "timeout": "0s",
			"retry_policy": object{"retry_on": "connect-failure", "num_retries": 3},
		},
	}
	manager := typed("filters.network.http_connection_manager.v3.HttpConnectionManager", object{
		"stat_prefix": name, "http_filters": filters, "upgrade_configs": []any{object{"upgrade_type": "websocket"}},
		"route_config": object{"virtual_hosts": []any{object{"name": "all", "domains": []any{"*"}, "routes": []any{route}}}},
	})
	return object{
		"name": name, "address": address("127.0.0.1:0"),
		"filter_chains": []any{object{"filters": []any{object{"name": "hcm", "typed_config": manager}}}},
	}
}

func extProc(mode object, open bool) object {
	for _, field := range []string{
		"request_header_mode", "response_header_mode", "request_trailer_mode", "response_trailer_mode",
	} {
		mode[field] = "SEND"
	}
	return object{"name": "picker", "typed_config": typed("filters.http.ext_proc.v3.ExternalProcessor", object{
		"grpc_service":       object{"envoy_grpc": object{"cluster_name": "picker"}},
		"failure_mode_allow": open, "message_timeout": "5s", "processing_mode": mode, "allow_mode_override": true,
		"metadata_options": object{
			"receiving_namespaces":  object{"untyped": []any{namespace}},
			"forwarding_namespaces": object{"untyped": []any{namespace, subsetNamespace}},
		},
	})}
}

func (r *rig) poolCluster() object {
	var endpoints []any
	for _, e := range r.all() {
		endpoints = append(endpoints, object{"endpoint": object{"address": address(e)}})
	}
	roundRobin := object{"policies": []any{object{"typed_extension_config": object{
		"name": "round", "typed_config": typed("load_balancing_policies.round_robin.v3.RoundRobin", object{}),
	}}}}
	override := typed("load_balancing_policies.override_host.v3.OverrideHost", object{
		"override_host_sources": []any{
			object{"metadata": object{"key": namespace, "path": []any{object{"key": destinationKey}}}},
			object{"header": destinationKey},
		},
		"selected_host_key": object{"key": namespace, "path": []any{object{"key": servedKey}}},
		"fallback_policy":   roundRobin,
	})
	return object{
		"name": "pool", "type": "STATIC", "connect_timeout": "2s",
		"load_assignment": object{"cluster_name": "pool", "endpoints": []any{object{"lb_endpoints": endpoints}}},
		"load_balancing_policy": object{"policies": []any{object{"typed_extension_config": object{
			"name": "override", "typed_config": override,
		}}}},
	}
}

// pickerCluster is healthy only while the picker listens: so a gateway that fails open really does.
func (r *rig) pickerCluster() object {
	endpoint := object{"lb_endpoints": []any{object{"endpoint": object{"address": address(r.at)}}}}
	return object{
		"name": "picker", "type": "STATIC", "connect_timeout": "1s",
		"common_lb_config": object{"healthy_panic_threshold": object{"value": 0}},
		"health_checks": []any{object{
			"timeout": "1s", "interval": "0.1s", "no_traffic_interval": "0.1s", "unhealthy_threshold": 1,
			"healthy_threshold": 1, "tcp_health_check": object{},
		}},
		"load_assignment": object{"cluster_name": "picker", "endpoints": []any{endpoint}},
		"transport_socket": object{"name": "tls", "typed_config": typed(
			"transport_sockets.tls.v3.UpstreamTlsContext", object{
				"common_tls_context": object{"alpn_protocols": []any{"h2"}},
			})},
		"typed_extension_protocol_options": object{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": typed(
				"upstreams.http.v3.HttpProtocolOptions", object{
					"explicit_http_config": object{"http2_protocol_options": object{}},
				}),
		},
	}
}

package proxyprotocol

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	proxyprotocolv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3"

	"cardea.dev/cardea/extend/envoy"
)

// protoVersions are the versions as Envoy has them.
var protoVersions = map[Version]corev3.ProxyProtocolConfig_Version{
	V1: corev3.ProxyProtocolConfig_V1, V2: corev3.ProxyProtocolConfig_V2,
}

func renderListener(e envoy.Listener, v Value) {
	config := &proxyprotocolv3.ProxyProtocol{AllowRequestsWithoutProxyProtocol: v.Optional}
	for _, version := range []Version{V1, V2} {
		if !slices.Contains(v.Versions, version) {
			config.DisallowedVersions = append(config.DisallowedVersions, protoVersions[version])
		}
	}
	e.ListenerFilter("proxy_protocol", config)
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Listener: renderListener})

package simulate

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	proxyprotocolv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/proxy_protocol/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"cardea.dev/cardea/internal/core/request"
)

// findListener finds the listener that has the address; one for all addresses comes last.
func (s *simulation) findListener() *listenerv3.Listener {
	var found *listenerv3.Listener
	for _, name := range slices.Sorted(maps.Keys(s.config.listeners)) {
		l := s.config.listeners[name]
		socket := l.GetAddress().GetSocketAddress()
		if socket.GetPortValue() != s.current.Port || (socket.GetProtocol() == corev3.SocketAddress_UDP) != s.datagrams {
			continue
		}
		if s.current.Address == "" || socket.GetAddress() == s.current.Address {
			found = l
			break
		}
		if ip, err := netip.ParseAddr(socket.GetAddress()); err == nil && ip.IsUnspecified() {
			found = l
		}
	}
	if found == nil {
		s.result.Closed = fmt.Sprintf("no listener has port %d", s.current.Port)
		return nil
	}
	s.result.Listener = found.GetName()
	if s.datagrams {
		return found
	}
	s.noteUnknownFields(found, "name", "address", "stat_prefix", "filter_chains", "default_filter_chain",
		"listener_filters",
		"enable_reuse_port",
		"per_connection_buffer_limit_bytes", "access_log", "traffic_direction", "tcp_backlog_size", "tcp_keepalive",
		"listener_filters_timeout")
	s.usesPeerAddress = true
	for _, f := range found.GetListenerFilters() {
		proxied := new(proxyprotocolv3.ProxyProtocol)
		switch {
		case shortType(f.GetTypedConfig().GetTypeUrl()) == "TlsInspector":
		case f.GetTypedConfig().UnmarshalTo(proxied) != nil:
			s.noteNotSimulated(f.GetName())
		case !proxied.GetAllowRequestsWithoutProxyProtocol(): // whether a load balancer sends a header before it
			s.noteNotSimulated(f.GetName() + ".required")
		default:
			s.usesPeerAddress = false
		}
	}
	return found
}

// findFilterChain finds the chain of the connection's SNI: an exact name before a wildcard, the longest first, before
// none. Of the chains of a name, the one with the most specific range of the client's address counts.
func (s *simulation) findFilterChain(l *listenerv3.Listener) *listenerv3.FilterChain {
	byName := map[string][]*listenerv3.FilterChain{}
	for _, chain := range l.GetFilterChains() {
		match := chain.GetFilterChainMatch()
		s.noteUnknownFields(match, "server_names", "source_prefix_ranges")
		if len(match.GetServerNames()) == 0 {
			byName[""] = append(byName[""], chain)
		}
		for _, name := range match.GetServerNames() {
			name = strings.ToLower(name)
			byName[name] = append(byName[name], chain)
		}
	}
	var named []*listenerv3.FilterChain
	for _, name := range serverNames(s.current) {
		if named = byName[name]; len(named) > 0 {
			s.result.ServerName = name
			break
		}
	}
	chain, refusal := s.chooseBySource(named, l.GetDefaultFilterChain())
	switch {
	case chain != nil:
	case !s.current.TLS:
		s.result.Closed = "the listener speaks TLS" // by names alone, so each of its chains does
		return nil
	case s.current.SNI == "":
		s.result.Closed = "no filter chain matches a connection without SNI"
		return nil
	default:
		s.result.Closed = "no filter chain matches its SNI"
		return nil
	}
	s.result.Chain = chain.GetName()
	s.noteUnknownFields(chain, "name", "filters", "filter_chain_match", "transport_socket",
		"transport_socket_connect_timeout")
	switch isTLS := chain.GetTransportSocket() != nil; {
	case len(chain.GetFilters()) == 0:
		s.result.Closed = refusal
	case isTLS && !s.current.TLS:
		s.result.Closed = "the listener speaks TLS"
	case !isTLS && s.current.TLS && !slices.ContainsFunc(chain.GetFilters(), sharesConnections):
		s.result.Closed = "the listener doesn't speak TLS"
	case isTLS && !s.canTerminateTLS(chain):
	default:
		return chain
	}
	return nil
}

// serverNames are the names under which a chain may be found, the best first.
func serverNames(r request.Request) []string {
	names := []string{""}
	if !r.TLS || r.SNI == "" {
		return names
	}
	name := strings.ToLower(r.SNI)
	names = []string{name}
	for rest := name; ; {
		dot := strings.IndexByte(rest, '.')
		if dot < 0 {
			return append(names, "")
		}
		names = append(names, "*"+rest[dot:])
		rest = rest[dot+1:]
	}
}

// canTerminateTLS tells whether a TLS handshake can come about: a certificate is there.
func (s *simulation) canTerminateTLS(chain *listenerv3.FilterChain) bool {
	context := new(tlsv3.DownstreamTlsContext)
	if err := chain.GetTransportSocket().GetTypedConfig().UnmarshalTo(context); err != nil {
		s.setUndecided(chain.GetTransportSocket().GetName())
		return false
	}
	const required = "require_client_certificate"
	s.noteUnknownFields(context, "common_tls_context", required, "disable_stateless_session_resumption",
		"disable_stateful_session_resumption")
	common := context.GetCommonTlsContext()
	clients := common.GetValidationContextSdsSecretConfig()
	judges, known := s.config.secrets[clients.GetName()]
	if context.GetRequireClientCertificate().GetValue() || judges {
		s.noteNotSimulated("DownstreamTlsContext." + required) // whether the client has a valid one is not known
	}
	s.noteUnknownFields(common, "tls_params", "alpn_protocols", "tls_certificate_sds_secret_configs", "tls_certificates",
		"validation_context_sds_secret_config")
	present := len(common.GetTlsCertificates()) > 0
	for _, secret := range common.GetTlsCertificateSdsSecretConfigs() {
		_, there := s.config.secrets[secret.GetName()]
		present = present || there
	}
	switch {
	case !present:
		s.result.Closed = "the listener has no certificate"
	case clients != nil && !known:
		s.result.Closed = "the listener does not know who signs its clients' certificates"
	}
	return s.result.Closed == ""
}

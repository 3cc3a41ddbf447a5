package simulate

import (
	"net/http"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/request"
)

func (s *simulation) findManager(chain *listenerv3.FilterChain) *hcmv3.HttpConnectionManager {
	var manager *hcmv3.HttpConnectionManager
	for _, f := range chain.GetFilters() {
		m := new(hcmv3.HttpConnectionManager)
		if shortType(f.GetTypedConfig().GetTypeUrl()) == "ConnectionLimit" {
			continue // a request is looked at by itself: there are no other connections
		}
		if sharesConnections(f) {
			s.result.Mismatch = true
			return nil
		}
		if err := f.GetTypedConfig().UnmarshalTo(m); err != nil {
			s.noteNotSimulated(f.GetName())
			continue
		}
		manager = m
	}
	if manager == nil {
		s.result.Undecided = true
		return nil
	}
	s.noteUnknownFields(manager, "stat_prefix", "codec_type", "rds", "route_config", "http_filters", "use_remote_address",
		"xff_num_trusted_hops", "skip_xff_append", "original_ip_detection_extensions", "early_header_mutation_extensions",
		"normalize_path", "merge_slashes",
		"path_with_escaped_slashes_action", "strip_matching_host_port", "strip_any_host_port", "strip_trailing_host_dot",
		"common_http_protocol_options", "http_protocol_options", "http2_protocol_options", "server_name",
		"server_header_transformation",
		"scheme_header_transformation", // the backend's own, which is not told here
		"local_reply_config",           // needs to know if an agent asks: that filter is not simulated
		"stream_idle_timeout", "request_timeout", "request_headers_timeout", "drain_timeout", "delayed_close_timeout",
		"access_log",
		"access_log_options", "max_request_headers_kb", "generate_request_id", "preserve_external_request_id",
		"upgrade_configs", "tracing", "via", "forward_client_cert_details", "set_current_client_cert_details",
		"proxy_100_continue")
	s.noteUnknownFields(manager.GetCommonHttpProtocolOptions(), "idle_timeout", "max_connection_duration",
		"max_stream_duration",
		"max_headers_count", "max_requests_per_connection", "headers_with_underscores_action")
	s.manager = manager
	return manager
}

// applyManager does to a request what the connection manager does before it looks for a route. It tells whether that
// goes on.
func (s *simulation) applyManager(m *hcmv3.HttpConnectionManager) bool {
	r := &s.current
	if !s.checkCodec(m) {
		return false
	}
	joinHeaders(r.Header)
	if !strings.HasPrefix(r.Path, "/") {
		s.setUndecided("a path that does not begin with a slash")
		return false
	}
	if strings.Contains(r.Path, "#") {
		s.refuseRequest(http.StatusBadRequest, "its path has a fragment (#)")
		return false
	}
	if r.Method == "QUERY" && r.Header.Get("Content-Type") == "" {
		s.refuseRequest(http.StatusBadRequest, "QUERY without a content-type")
		return false
	}
	if m.GetStripAnyHostPort() || m.GetStripMatchingHostPort() {
		if m.GetStripMatchingHostPort() {
			s.noteNotSimulated("HttpConnectionManager.strip_matching_host_port")
		} else {
			r.Host = cutPort(r.Host)
		}
	}
	if m.GetStripTrailingHostDot() {
		name := cutPort(r.Host)
		r.Host = strings.TrimSuffix(name, ".") + r.Host[len(name):]
	}
	if !s.normalizePath(m) {
		return false
	}
	s.applyEarlyMutations(m)
	s.removeHopByHop(m)
	return s.replaceClaims(m) && s.checkUpgrade(m)
}

// normalizePath makes the request's path what routes are compared with. It tells whether one is looked for.
func (s *simulation) normalizePath(m *hcmv3.HttpConnectionManager) bool {
	r := &s.current
	path, action := r.URLPath(), m.GetPathWithEscapedSlashesAction()
	escaped := unescapeSlashes(path) != path && action != hcmv3.HttpConnectionManager_KEEP_UNCHANGED
	if escaped && (action == hcmv3.HttpConnectionManager_REJECT_REQUEST || redirectsUnescaped(action) && isGRPC(*r)) {
		s.refuseRequest(http.StatusBadRequest, "its path has an escaped slash")
		return false
	}
	if escaped {
		path = unescapeSlashes(path)
	}
	if m.GetNormalizePath().GetValue() {
		canonical, ok := canonicalPath(path)
		if !ok {
			s.refuseRequest(http.StatusBadRequest, "its path has an escaped zero byte (%%00)")
			return false
		}
		path = canonical
	}
	if m.GetMergeSlashes() {
		path = mergeSlashes(path)
	}
	r.Path = r.WithPath(path)
	if escaped && redirectsUnescaped(action) {
		s.result.Refused = "its path has an escaped slash, and the client is redirected to the path without it"
		s.addOutcome(Outcome{Effect: request.Effect{
			Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {r.Path}}, Location: r.Path,
		}})
		return false
	}
	return true
}

// redirectsUnescaped tells whether a client that escapes a slash is sent to the path without.
func redirectsUnescaped(a hcmv3.HttpConnectionManager_PathWithEscapedSlashesAction) bool {
	return a == hcmv3.HttpConnectionManager_UNESCAPE_AND_REDIRECT
}

// findTable is where the connection manager looks routes up. Its HTTP filters come first.
func (s *simulation) findTable(m *hcmv3.HttpConnectionManager) *table {
	if !s.collectFilters(m) {
		return nil
	}
	if m.GetRouteConfig() != nil {
		s.setUndecided("HttpConnectionManager.route_config")
		return nil
	}
	name := m.GetRds().GetRouteConfigName()
	s.result.Table = name
	t, ok := s.config.tables[name]
	if !ok {
		s.addAnswer(http.StatusNotFound) // Envoy has an empty table until it comes
		return nil
	}
	s.noteUnknownFields(t.head, "name", "ignore_port_in_host_matching", "request_headers_to_add",
		"request_headers_to_remove",
		"response_headers_to_add",
		"response_headers_to_remove", "validate_clusters", "max_direct_response_body_size_bytes", "typed_per_filter_config",
		"most_specific_header_mutations_wins")
	return t
}

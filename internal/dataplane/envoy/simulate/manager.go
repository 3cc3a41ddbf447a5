package simulate

import (
	"net/http"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"cardea.dev/cardea/internal/core/request"
)

func (s *simulation) connectionManager(chain *listenerv3.FilterChain) *hcmv3.HttpConnectionManager {
	var manager *hcmv3.HttpConnectionManager
	for _, f := range chain.GetFilters() {
		m := new(hcmv3.HttpConnectionManager)
		if shortType(f.GetTypedConfig().GetTypeUrl()) == "ConnectionLimit" {
			continue // a request is looked at by itself: there are no other connections
		}
		if err := f.GetTypedConfig().UnmarshalTo(m); err != nil {
			s.missing(f.GetName())
			continue
		}
		manager = m
	}
	if manager == nil {
		s.result.Undecided = true
		return nil
	}
	s.survey(manager, "stat_prefix", "codec_type", "rds", "route_config", "http_filters", "use_remote_address",
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
	s.survey(manager.GetCommonHttpProtocolOptions(), "idle_timeout", "max_connection_duration", "max_stream_duration",
		"max_headers_count", "max_requests_per_connection", "headers_with_underscores_action")
	s.manager = manager
	return manager
}

// manage does to a request what the connection manager does before it looks for a route. It tells whether that goes on.
func (s *simulation) manage(m *hcmv3.HttpConnectionManager) bool {
	r := &s.request
	if !s.decode(m) {
		return false
	}
	join(r.Header)
	if !strings.HasPrefix(r.Path, "/") {
		s.undecided("a path that does not begin with a slash")
		return false
	}
	if strings.Contains(r.Path, "#") {
		s.refuse(http.StatusBadRequest, "its path has a fragment (#)")
		return false
	}
	if r.Method == "QUERY" && r.Header.Get("Content-Type") == "" {
		s.refuse(http.StatusBadRequest, "QUERY without a content-type")
		return false
	}
	if m.GetStripAnyHostPort() || m.GetStripMatchingHostPort() {
		if m.GetStripMatchingHostPort() {
			s.missing("HttpConnectionManager.strip_matching_host_port")
		} else {
			r.Host = cutPort(r.Host)
		}
	}
	if m.GetStripTrailingHostDot() {
		name := cutPort(r.Host)
		r.Host = strings.TrimSuffix(name, ".") + r.Host[len(name):]
	}
	if !s.normalize(m) {
		return false
	}
	s.early(m)
	s.hopByHop(m)
	return s.claim(m) && s.upgrade(m)
}

// normalize makes the request's path what routes are compared with. It tells whether one is looked for.
func (s *simulation) normalize(m *hcmv3.HttpConnectionManager) bool {
	r := &s.request
	path, action := r.URLPath(), m.GetPathWithEscapedSlashesAction()
	escaped := unescapeSlashes(path) != path && action != hcmv3.HttpConnectionManager_KEEP_UNCHANGED
	if escaped && (action == hcmv3.HttpConnectionManager_REJECT_REQUEST || toAnother(action) && isGRPC(*r)) {
		s.refuse(http.StatusBadRequest, "its path has an escaped slash")
		return false
	}
	if escaped {
		path = unescapeSlashes(path)
	}
	if m.GetNormalizePath().GetValue() {
		canonical, ok := canonicalPath(path)
		if !ok {
			s.refuse(http.StatusBadRequest, "its path has an escaped zero byte (%%00)")
			return false
		}
		path = canonical
	}
	if m.GetMergeSlashes() {
		path = mergeSlashes(path)
	}
	r.Path = r.WithPath(path)
	if escaped && toAnother(action) {
		s.result.Refused = "its path has an escaped slash, and the client is sent to the path without"
		s.add(Outcome{Effect: request.Effect{
			Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {r.Path}}, Location: r.Path,
		}})
		return false
	}
	return true
}

// toAnother tells whether a client that escapes a slash is sent to the path without.
func toAnother(a hcmv3.HttpConnectionManager_PathWithEscapedSlashesAction) bool {
	return a == hcmv3.HttpConnectionManager_UNESCAPE_AND_REDIRECT
}

// table is where the connection manager looks routes up. Its HTTP filters come first.
func (s *simulation) table(m *hcmv3.HttpConnectionManager) *table {
	if !s.chain(m) {
		return nil
	}
	if m.GetRouteConfig() != nil {
		s.undecided("HttpConnectionManager.route_config")
		return nil
	}
	name := m.GetRds().GetRouteConfigName()
	s.result.Table = name
	t, ok := s.config.tables[name]
	if !ok {
		s.answer(http.StatusNotFound) // Envoy has an empty table until it comes
		return nil
	}
	s.survey(t.head, "name", "ignore_port_in_host_matching", "request_headers_to_add", "request_headers_to_remove",
		"response_headers_to_add",
		"response_headers_to_remove", "validate_clusters", "max_direct_response_body_size_bytes", "typed_per_filter_config",
		"most_specific_header_mutations_wins")
	return t
}

package clienthttp

import (
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend/envoy"
)

type connectionManager = hcmv3.HttpConnectionManager

var escapedSlashes = map[EscapedSlashes]hcmv3.HttpConnectionManager_PathWithEscapedSlashesAction{
	"KeepUnchanged":       hcmv3.HttpConnectionManager_KEEP_UNCHANGED,
	"Reject":              hcmv3.HttpConnectionManager_REJECT_REQUEST,
	"UnescapeAndForward":  hcmv3.HttpConnectionManager_UNESCAPE_AND_FORWARD,
	"UnescapeAndRedirect": hcmv3.HttpConnectionManager_UNESCAPE_AND_REDIRECT,
}

var underscores = map[Underscores]corev3.HttpProtocolOptions_HeadersWithUnderscoresAction{
	"Reject": corev3.HttpProtocolOptions_REJECT_REQUEST, "Drop": corev3.HttpProtocolOptions_DROP_HEADER,
}

var servers = map[Server]hcmv3.HttpConnectionManager_ServerHeaderTransformation{
	"PassThrough":    hcmv3.HttpConnectionManager_PASS_THROUGH,
	"AppendIfAbsent": hcmv3.HttpConnectionManager_APPEND_IF_ABSENT,
}

var certificateModes = map[CertificateMode]hcmv3.HttpConnectionManager_ForwardClientCertDetails{
	"ForwardOnly":   hcmv3.HttpConnectionManager_FORWARD_ONLY,
	"AppendForward": hcmv3.HttpConnectionManager_APPEND_FORWARD,
	"SanitizeSet":   hcmv3.HttpConnectionManager_SANITIZE_SET,
}

func renderListener(e envoy.Listener, v Value) {
	m := &connectionManager{
		PathWithEscapedSlashesAction: escapedSlashes[v.EscapedSlashes],
		ServerHeaderTransformation:   servers[v.Server],
		ForwardClientCertDetails:     certificateModes[v.Certificates],
		Proxy_100Continue:            v.Continue,
		Via:                          v.Via,
	}
	var zero []string
	if v.MergeSlashes != nil {
		if m.MergeSlashes = *v.MergeSlashes; !*v.MergeSlashes {
			zero = append(zero, "merge_slashes")
		}
	}
	if v.Server == "Overwrite" {
		zero = append(zero, "server_header_transformation")
	}
	v.setHeaderBounds(m)
	v.setRequestID(m)
	v.setCertificateDetails(m)
	if len(v.Early) > 0 {
		m.EarlyHeaderMutationExtensions = []*corev3.TypedExtensionConfig{{
			Name: "headers", TypedConfig: packAny(&earlyv3.HeaderMutation{Mutations: envoy.HeaderMutations(v.Early)}),
		}}
	}
	e.Connections(m, zero...)
}

// setHeaderBounds are those of headers.
func (v Value) setHeaderBounds(m *connectionManager) {
	if v.MaxSizeKi != nil {
		m.MaxRequestHeadersKb = wrapperspb.UInt32(*v.MaxSizeKi)
	}
	action := underscores[v.Underscores]
	if v.MaxCount == nil && action == 0 {
		return
	}
	m.CommonHttpProtocolOptions = &corev3.HttpProtocolOptions{HeadersWithUnderscoresAction: action}
	if v.MaxCount != nil {
		m.CommonHttpProtocolOptions.MaxHeadersCount = wrapperspb.UInt32(*v.MaxCount)
	}
}

func (v Value) setRequestID(m *connectionManager) {
	if v.RequestID == "" {
		return
	}
	m.GenerateRequestId = wrapperspb.Bool(v.RequestID == "Generate" || v.RequestID == "PreserveOrGenerate")
	m.PreserveExternalRequestId = v.RequestID == "Preserve" || v.RequestID == "PreserveOrGenerate"
}

// setCertificateDetails is what backends are told of a client's certificate.
func (v Value) setCertificateDetails(m *connectionManager) {
	if m.ForwardClientCertDetails < hcmv3.HttpConnectionManager_APPEND_FORWARD || len(v.Details) == 0 {
		return
	}
	m.SetCurrentClientCertDetails = &hcmv3.HttpConnectionManager_SetCurrentClientCertDetails{
		Cert: slices.Contains(v.Details, "Cert"), Chain: slices.Contains(v.Details, "Chain"),
		Uri: slices.Contains(v.Details, "URI"), Dns: slices.Contains(v.Details, "DNS"),
	}
	if slices.Contains(v.Details, "Subject") {
		m.SetCurrentClientCertDetails.Subject = wrapperspb.Bool(true)
	}
}

func packAny(m *earlyv3.HeaderMutation) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err) // a message of ours that can't be encoded
	}
	return a
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Listener: renderListener})

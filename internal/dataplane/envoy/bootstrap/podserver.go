package bootstrap

import (
	"path"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	injectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/credential_injector/v3"
	codecv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/upstream_codec/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	genericv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/injected_credentials/generic/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
)

// The secrets that the connection to the server needs. Each is a file, named by a file.
const (
	caSecret    = "ca"
	tokenSecret = "token"
)

// A server that is gone is noticed sooner than others, by the kernel. Pings of HTTP/2 would do as well, but gRPC
// servers close the connection of a client that sends them often.
const (
	serverKeepaliveIdle     = 30 * time.Second
	serverKeepaliveInterval = 5 * time.Second
)

// xdsClusterInNetwork is the server at an address: it shows a certificate, the proxy a token in each stream's headers.
func xdsClusterInNetwork(cfg dataplane.PodOptions) *clusterv3.Cluster {
	c := xdsServerCluster(cfg)
	c.UpstreamConnectionOptions = &clusterv3.UpstreamConnectionOptions{
		TcpKeepalive: message.TCPKeepalive(serverKeepaliveIdle, serverKeepaliveInterval),
	}
	c.TransportSocket = &corev3.TransportSocket{
		Name: "tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: message.MustAny(&tlsv3.UpstreamTlsContext{
			Sni:            cfg.ServerName,
			MaxSessionKeys: wrapperspb.UInt32(0), // each connection looks at the certificate anew
			CommonTlsContext: &tlsv3.CommonTlsContext{
				TlsParams: &tlsv3.TlsParameters{
					TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_3, TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
				},
				ValidationContextType: &tlsv3.CommonTlsContext_ValidationContextSdsSecretConfig{
					ValidationContextSdsSecretConfig: &tlsv3.SdsSecretConfig{Name: caSecret, SdsConfig: fileConfigSource(cfg,
						podCAFile)},
				},
			},
		})},
	}
	options := message.HTTP2Upstream()
	options.HttpFilters = []*hcmv3.HttpFilter{
		{Name: "token", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: message.MustAny(injectToken(cfg))}},
		{Name: "codec", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: message.MustAny(&codecv3.UpstreamCodec{})}},
	}
	c.TypedExtensionProtocolOptions = map[string]*anypb.Any{message.HTTPOptionsName: message.MustAny(options)}
	return c
}

// injectToken sets each stream's header "authorization". Envoy's own credentials for a gRPC client are not used: they
// do not notice when the CA bundle changes.
func injectToken(cfg dataplane.PodOptions) *injectorv3.CredentialInjector {
	return &injectorv3.CredentialInjector{
		Overwrite: true,
		Credential: &corev3.TypedExtensionConfig{
			Name: "envoy.http.injected_credentials.generic",
			TypedConfig: message.MustAny(&genericv3.Generic{
				Header:            "authorization",
				HeaderValuePrefix: "Bearer ",
				Credential:        &tlsv3.SdsSecretConfig{Name: tokenSecret, SdsConfig: fileConfigSource(cfg, podTokenFile)},
			}),
		},
	}
}

func fileConfigSource(cfg dataplane.PodOptions, name string) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{
			PathConfigSource: &corev3.PathConfigSource{Path: path.Join(cfg.ConfigDir, name)},
		},
		ResourceApiVersion: corev3.ApiVersion_V3,
	}
}

// podCASecret trusts the bundle for certificates of the server's name, and no other.
func podCASecret(cfg dataplane.PodOptions) *tlsv3.Secret {
	return &tlsv3.Secret{
		Name: caSecret,
		Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
			TrustedCa:        fileSource(cfg.CAPath),
			WatchedDirectory: watchedDirectory(cfg.CAPath),
			MatchTypedSubjectAltNames: []*tlsv3.SubjectAltNameMatcher{{
				SanType: tlsv3.SubjectAltNameMatcher_DNS,
				Matcher: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: cfg.ServerName}},
			}},
		}},
	}
}

func podTokenSecret(cfg dataplane.PodOptions) *tlsv3.Secret {
	source := fileSource(cfg.TokenPath)
	source.WatchedDirectory = watchedDirectory(cfg.TokenPath)
	return &tlsv3.Secret{Name: tokenSecret,
		Type: &tlsv3.Secret_GenericSecret{GenericSecret: &tlsv3.GenericSecret{Secret: source}}}
}

func fileSource(name string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: name}}
}

// watchedDirectory is the folder that changes when a file of a volume does: the file is reached through a link in it.
func watchedDirectory(name string) *corev3.WatchedDirectory {
	return &corev3.WatchedDirectory{Path: path.Dir(name)}
}

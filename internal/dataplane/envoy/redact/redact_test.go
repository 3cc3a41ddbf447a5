package redact

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	apikeyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/api_key_auth/v3"
	basicauthv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestRedact: what protos mark as sensitive is not printed, however deep it is packed.
func TestRedact(t *testing.T) {
	source := func(text string) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
	}
	bytes := &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte("s3cret")}}
	table := &routev3.RouteConfiguration{Name: "kept", TypedPerFilterConfig: httpfilters.EncodeSettings(httpfilters.Table,
		[]plan.Setting{
			httpfilters.NewSetting(httpfilters.Authn, "basic", &basicauthv3.BasicAuth{Users: source("ann:s3cret"),
				Realm: "kept"}),
			httpfilters.NewSetting(httpfilters.Authn, "key", &apikeyv3.ApiKeyAuth{
				Credentials: []*apikeyv3.Credential{{Key: "s3cret", Client: "kept"}},
			}),
		})}
	unknown := &routev3.RouteConfiguration{Name: "kept", TypedPerFilterConfig: map[string]*anypb.Any{
		"a": {TypeUrl: "", Value: nil},
	}}
	certificate := &tlsv3.Secret{Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: source("kept"), PrivateKey: bytes,
	}}}
	for _, of := range []struct {
		t resource.Type
		m proto.Message
	}{{xdstypes.Routes, table}, {xdstypes.Routes, unknown}, {xdstypes.Secret, certificate}} {
		text, err := DescribeResource(of.t, resource.JoinParts(message.NewPart("", message.MustMarshal(of.m))))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "s3cret") || strings.Contains(string(text), "czNjcmV0") ||
			!strings.Contains(string(text), "kept") {
			t.Errorf("%s", text)
		}
	}
}

package redact

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	apikeyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/api_key_auth/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"cardea.dev/cardea/extend"
	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// TestWordsQuoteNoSecret over what Envoy 1.40 says of what it refuses.
func TestWordsQuoteNoSecret(t *testing.T) {
	script := &luav3.Lua{DefaultSourceCode: &corev3.DataSource{
		Specifier: &corev3.DataSource_InlineString{InlineString: "local text = 'hidden-in-a-program"},
	}}
	table := func(settings ...plan.Setting) []*resource.Part {
		return []*resource.Part{message.NewPart("", message.MustMarshal(&routev3.RouteConfiguration{
			Name: "t", TypedPerFilterConfig: httpfilters.EncodeSettings(httpfilters.Table, settings),
		}))}
	}
	had := table(httpfilters.NewSetting(httpfilters.Authn, "key", &apikeyv3.ApiKeyAuth{
		Credentials: []*apikeyv3.Credential{{Key: "of-before", Client: "ann"}},
	}))
	is := table(httpfilters.NewSetting(httpfilters.Authn, "key", &apikeyv3.ApiKeyAuth{
		Credentials: []*apikeyv3.Credential{{Key: "s3cret-key", Client: "ann"}, {Key: "abcd", Client: "bob"}},
	}), httpfilters.NewSetting(string(extend.SlotCustom3), extendenvoy.SecretFilter("a"), script))
	none := &anypb.Any{TypeUrl: "type.googleapis.com/none", Value: []byte("s3cret-value")}
	opaque := []*resource.Part{message.NewPart("", message.MustMarshal(&routev3.RouteConfiguration{
		Name: "t", TypedPerFilterConfig: map[string]*anypb.Any{"a": none},
	}))}
	for _, of := range []struct {
		is            []*resource.Part
		message, want string
	}{
		{is, "Duplicated credential key: 's3cret-key'", "Duplicated credential key: '[redacted]'"},
		{is, "Duplicated credential key: 'abcd'", "Duplicated credential key: '[redacted]'"},
		{is, `script load error: [string "local text = 'hidden..."]:1: unfinished string`,
			`script load error: [string "[redacted]..."]:1: unfinished string`},
		{is, "goo.gle/debugproto    \ncredentials {\n  key: \"other\"\n}\n: Proto constraint validation failed (X.Key: no)",
			"Proto constraint validation failed (X.Key: no)"},
		{is, "Error adding/updating listener(s) a: goo.gle/debugstr {\n: Proto constraint validation failed (A)\nb: " +
			"goo.gle/debugstr {: Proto constraint validation failed (B)",
			"Error adding/updating listener(s) a: Proto constraint validation failed (A)\n" +
				"b: Proto constraint validation failed (B)"},
		{is, "of-before is no part of what is new", "of-before is no part of what is new"},
		{opaque, "unknown type none: s3cret-value", "unknown type none: [redacted]"},
		{had, "regex 'a{1000}' is too large", "regex 'a{1000}' is too large"},
		{had, "", ""},
		{nil, "äöü", "äöü"},
	} {
		if got := (RefusalParser{}).RedactMessage(xdstypes.Routes, had, of.is, of.message); got != of.want {
			t.Errorf("%q: %q, want %q", of.message, got, of.want)
		}
	}
	long := strings.Repeat("x", 1<<16) // as long as a message may be
	if got := (RefusalParser{}).RedactMessage(xdstypes.Routes, nil, is, long); got != long {
		t.Errorf("%d bytes", len(got))
	}
}

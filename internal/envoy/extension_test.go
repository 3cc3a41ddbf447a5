package envoy

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	jwtv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/resource"
)

// TestExtensionHead: the parts of an extension, with the head that stands before them, are one message.
func TestExtensionHead(t *testing.T) {
	extensionTypes["test"] = mustAny(&jwtv3.JwtAuthentication{}).TypeUrl
	defer delete(extensionTypes, "test")
	var rest []*resource.Part
	for _, name := range []string{"a", "b"} {
		rest = append(rest, newPart(name, mustMarshal(&jwtv3.JwtAuthentication{
			RequirementMap: map[string]*jwtv3.JwtRequirement{name: {}},
		})))
	}
	for n := range len(rest) + 1 {
		r := resource.Join(append([]*resource.Part{extensionHead("test", rest[:n])}, rest[:n]...)...)
		var e corev3.TypedExtensionConfig
		var m jwtv3.JwtAuthentication
		if err := proto.Unmarshal(r.Flatten(nil), &e); err != nil {
			t.Fatal(err)
		}
		if err := e.TypedConfig.UnmarshalTo(&m); err != nil {
			t.Fatal(err)
		}
		if e.Name != "test" || len(m.RequirementMap) != n {
			t.Errorf("%d parts: %v of %v", n, &m, &e)
		}
	}
}

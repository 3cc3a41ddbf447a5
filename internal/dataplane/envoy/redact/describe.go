package redact

import (
	"fmt"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// DescribeResource prints a resource as FormatJSON, the same for the same resource. Secrets are left out.
func DescribeResource(t resource.Type, r resource.Resource) ([]byte, error) {
	m, err := message.NewMessage(t)
	if err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(r.AppendBytes(nil), m); err != nil {
		return nil, fmt.Errorf("read %s: %w", xdstypes.Name(t), err)
	}
	if table, ok := m.(*routev3.RouteConfiguration); ok {
		hideHeaders(table, ignoreText)
	}
	redactMessage(m.ProtoReflect(), ignoreText)
	return message.FormatJSON(m)
}

// ignoreText is for callers that do not need the texts that were left out.
func ignoreText(string) {}

package envoy

import (
	setmetadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/extend"
)

// Where filters say who may refuse a request next for want of credentials. The connection manager answers accordingly:
// in a 401 of a method it writes the challenge, and it makes a 401 of the 403 by which AskedByAnyone refuses.
const (
	AskedMetadata  = "cardea.dev/authentication"
	AskedBy        = "by"
	AskedChallenge = "challenge" // the header WWW-Authenticate
	AskedByMethods = "methods"
	AskedByAnyone  = "anyone" // it refuses what no method accepted
	AskedByNobody  = "nobody"
)

// Where it stands that jwt_authn decides next about a request to a server of MCP: the connection manager names the
// metadata of the resource (RFC 9728) in its 401.
const (
	ResourceMetadata = "cardea.dev/resource"
	ResourceOfMCP    = "mcp"
)

// AddResource adds filters before and behind SlotJWT that say so.
func AddResource(e Rule) {
	e.Filter(extend.SlotAuthn, "resource", ofResource(true))
	e.Filter(extend.SlotMCP, "resource.done", ofResource(false))
}

func ofResource(next bool) *setmetadatav3.Config {
	return &setmetadatav3.Config{Metadata: []*setmetadatav3.Metadata{{
		MetadataNamespace: ResourceMetadata, AllowOverwrite: true,
		Value: &structpb.Struct{Fields: map[string]*structpb.Value{ResourceOfMCP: structpb.NewBoolValue(next)}},
	}}}
}

package mcptools

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	mcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/mcp/v3"
	bridgev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/mcp_json_rest_bridge/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/set_metadata/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"cardea.dev/cardea/extend"
)

// mostBody is how much of a message is read, in bytes, as for other servers of MCP. Longer messages are refused.
const mostBody = 1 << 20

// newestProtocol is the newest version of MCP that is spoken. Clients and the bridge agree on one.
const newestProtocol = "2026-07-28"

// wrongArgument is the answer to a call that can't be made into a request.
const wrongArgument = "An argument is none of the tool's, or stands in a path and is empty, has only dots, or has a " +
	`slash, a backslash, a semicolon, a percent sign or a control character.`

// render puts Envoy's bridge behind all that decides about requests: it makes another request of a call. The bridge
// lets requests to other paths than its own pass as they are, and never ends its answer to a GET, nor to a POST without
// a body; so these are answered before.
func render(e extend.EnvoyRule, v Value) {
	extend.AddResource(e)
	e.Filter(extend.SlotTransform, "mcptools/path",
		unless(http.StatusNotFound, ":path", regexp.QuoteMeta(v.Path)+`(\?.*)?`))
	e.Filter(extend.SlotTransform, "mcptools/method", unless(http.StatusMethodNotAllowed, ":method", http.MethodPost))
	e.Filter(extend.SlotTransform, "mcptools/upgrade", extend.RefuseUpgrades())
	e.Filter(extend.SlotTransform, "mcptools/message", &mcpv3.Mcp{
		TrafficMode: mcpv3.Mcp_REJECT_NO_MCP, RejectDuplicateKeys: wrapperspb.Bool(true),
		MaxRequestBodySize: wrapperspb.UInt32(mostBody),
	})
	e.Filter(extend.SlotTransform, "mcptools/bodies", bodies(v.Tools))
	e.Set(extend.SlotTools, nil)
	tools := &bridgev3.ServerToolConfig{
		ToolListConfig:    &bridgev3.ServerToolConfig_ToolListLocal{ToolListLocal: &bridgev3.ToolsListLocal{}},
		DefaultServerInfo: &bridgev3.McpServerInfo{Path: v.Path},
	}
	for _, t := range v.Tools {
		tools.Tools = append(tools.Tools, &bridgev3.ToolConfig{
			Name: t.Name, HttpRule: rule(t.Request), ToolListConfig: &bridgev3.ToolsListSpecificConfig{
				Title: t.Title, Description: t.Description, InputSchema: t.Schema,
			},
		})
	}
	e.Filter(extend.SlotBridge, "mcptools/bridge", &bridgev3.McpJsonRestBridge{
		ServerInfo: &bridgev3.ServerInfo{MaxSupportedProtocolVersion: wrapperspb.String(newestProtocol)},
		ToolConfig: tools, MaxRequestBodySize: wrapperspb.UInt32(mostBody),
		// The rule was chosen by the path that the agent sent. The tool's path chooses no other one.
		DisableClearRouteCache: true,
	})
	e.Filter(extend.SlotBridge, "mcptools/answer", &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: extend.AnswerMetadata, Value: &structpb.Struct{Fields: map[string]*structpb.Value{
			extend.AnswerText: structpb.NewStringValue(wrongArgument),
		}},
	}}})
	e.Filter(extend.SlotBridge, "mcptools/made", made(v))
}

// unless answers requests with a status unless a part of them matches one of some expressions.
func unless(status uint32, part string, expressions ...string) *faultv3.HTTPFault {
	f := &faultv3.HTTPFault{
		Abort: &faultv3.FaultAbort{
			ErrorType:  &faultv3.FaultAbort_HttpStatus{HttpStatus: status},
			Percentage: &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
		},
	}
	for _, expression := range expressions {
		f.Headers = append(f.Headers, &routev3.HeaderMatcher{
			Name: part, InvertMatch: true,
			HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
				MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: expression}},
			}},
		})
	}
	return f
}

// bodies tell the filter of SlotTools which argument of each tool becomes the body, and which others are named.
func bodies(tools []Served) *metadatav3.Config {
	all := map[string]*structpb.Value{}
	for _, t := range tools {
		if t.Body == "" {
			continue
		}
		named := map[string]*structpb.Value{}
		for _, argument := range variablesOf(t.Path) {
			named[argument] = structpb.NewBoolValue(true)
		}
		for _, h := range t.Headers {
			named[h.Argument] = structpb.NewBoolValue(true)
		}
		all[t.Name] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"body": structpb.NewStringValue(t.Body), "named": structpb.NewStructValue(&structpb.Struct{Fields: named}),
		}})
	}
	return &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: "cardea.dev/tool-bodies", Value: &structpb.Struct{Fields: all},
	}}}
}

func rule(q Request) *bridgev3.HttpRule {
	r := &bridgev3.HttpRule{Body: q.Body}
	switch q.Method {
	case http.MethodGet:
		r.Get = q.Path
	case http.MethodPut:
		r.Put = q.Path
	case http.MethodPost:
		r.Post = q.Path
	case http.MethodDelete:
		r.Delete = q.Path
	case http.MethodPatch:
		r.Patch = q.Path
	}
	for _, h := range q.Headers {
		r.Bindings = append(r.Bindings, &bridgev3.HttpRule_ParameterBinding{
			Type: bridgev3.HttpRule_ParameterBinding_HEADER, Name: strings.ToLower(h.Name), ArgumentPath: h.Argument,
		})
	}
	return r
}

// judge tells what the bridge does with a request that has come to its path.
func judge(q extend.Request, v Value) []extend.Verdict {
	switch a := q.Agent; {
	case q.URLPath() != v.Path || q.Method != http.MethodPost: // which is answered by the filters before
		return nil
	case a == nil || a.Method == "":
		return []extend.Verdict{
			{Status: http.StatusBadRequest, If: "its body is a message of MCP"},
			{Status: extend.AnyStatus, If: "it calls a tool"},
		}
	case strings.HasPrefix(a.Method, "notifications/"):
		return []extend.Verdict{{Status: http.StatusAccepted}}
	case a.Method != "tools/call":
		return []extend.Verdict{{Status: http.StatusOK}}
	default:
		for _, t := range v.Tools {
			if t.Name == a.Params["name"] {
				return []extend.Verdict{{
					Status: http.StatusOK, If: fmt.Sprintf("its arguments make the request %s %s", t.Method, t.Path),
				}}
			}
		}
		return []extend.Verdict{{Status: http.StatusOK}} // with an error: there is no such tool
	}
}

// mostNames is how many tools are named in an explanation.
const mostNames = 8

func words(v Value) []string {
	var names []string
	for _, t := range v.Tools {
		names = append(names, t.Name)
	}
	more := ""
	if len(names) > mostNames {
		names, more = names[:mostNames], fmt.Sprintf(" and %d more", len(names)-mostNames)
	}
	return []string{
		fmt.Sprintf("the backends are a server of MCP at %s, with the tools %s%s", v.Path, strings.Join(names, ", "), more),
		"notifications get 202 and change nothing: a call is cancelled when its client closes the request",
	}
}

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
	"cardea.dev/cardea/extend/envoy"
)

// maxBodyBytes is how much of a message is read, in bytes, as for other servers of MCP. Longer messages are refused.
const maxBodyBytes = 1 << 20

// newestProtocol is the newest version of MCP that is spoken. Clients and the bridge agree on one.
const newestProtocol = "2026-07-28"

// wrongArgument is the answer to a call that can't be made into a request.
const wrongArgument = "An argument is unknown to the tool, or it is part of the path and is empty, has only dots, " +
	"or has a slash, a backslash, a semicolon, a percent sign or a control character."

// renderRule puts Envoy's bridge behind all that decides about requests: it makes another request of a call. The bridge
// lets requests to other paths than its own pass as they are, and never ends its answer to a GET, nor to a POST without
// a body; so these are answered before.
func renderRule(e envoy.Rule, v Value) {
	envoy.AddResource(e)
	e.Filter(extend.SlotTransform, "mcptools/path",
		rejectUnless(http.StatusNotFound, ":path", regexp.QuoteMeta(v.Path)+`(\?.*)?`))
	e.Filter(extend.SlotTransform, "mcptools/method", rejectUnless(http.StatusMethodNotAllowed, ":method",
		http.MethodPost))
	e.Filter(extend.SlotTransform, "mcptools/upgrade", envoy.RefuseUpgrades())
	e.Filter(extend.SlotTransform, "mcptools/message", &mcpv3.Mcp{
		TrafficMode: mcpv3.Mcp_REJECT_NO_MCP, RejectDuplicateKeys: wrapperspb.Bool(true),
		MaxRequestBodySize: wrapperspb.UInt32(maxBodyBytes),
	})
	e.Filter(extend.SlotTransform, "mcptools/bodies", bodyMetadata(v.Tools))
	e.Set(extend.SlotTools, nil)
	tools := &bridgev3.ServerToolConfig{
		ToolListConfig:    &bridgev3.ServerToolConfig_ToolListLocal{ToolListLocal: &bridgev3.ToolsListLocal{}},
		DefaultServerInfo: &bridgev3.McpServerInfo{Path: v.Path},
	}
	for _, t := range v.Tools {
		tools.Tools = append(tools.Tools, &bridgev3.ToolConfig{
			Name: t.Name, HttpRule: httpRule(t.Request), ToolListConfig: &bridgev3.ToolsListSpecificConfig{
				Title: t.Title, Description: t.Description, InputSchema: t.Schema,
			},
		})
	}
	e.Filter(extend.SlotBridge, "mcptools/bridge", &bridgev3.McpJsonRestBridge{
		ServerInfo: &bridgev3.ServerInfo{MaxSupportedProtocolVersion: wrapperspb.String(newestProtocol)},
		ToolConfig: tools, MaxRequestBodySize: wrapperspb.UInt32(maxBodyBytes),
		// The rule was chosen by the path that the agent sent. The tool's path chooses no other one.
		DisableClearRouteCache: true,
	})
	e.Filter(extend.SlotBridge, "mcptools/answer", &metadatav3.Config{Metadata: []*metadatav3.Metadata{{
		MetadataNamespace: envoy.AnswerMetadata, Value: &structpb.Struct{Fields: map[string]*structpb.Value{
			envoy.AnswerText: structpb.NewStringValue(wrongArgument),
		}},
	}}})
	e.Filter(extend.SlotBridge, "mcptools/made", rejectMalformed(v))
}

// rejectUnless answers requests with a status unless a part of them matches one of some expressions.
func rejectUnless(status uint32, part string, expressions ...string) *faultv3.HTTPFault {
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

// bodyMetadata tell the filter of SlotTools which argument of each tool becomes the body, and which others are named.
func bodyMetadata(tools []ResolvedTool) *metadatav3.Config {
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

func httpRule(q Request) *bridgev3.HttpRule {
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

// judgeRequest tells what the bridge does with a request that has come to its path.
func judgeRequest(q extend.Request, v Value) []extend.Verdict {
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

// maxNamedTools is how many tools are named in an explanation.
const maxNamedTools = 8

func describeValue(v Value) []string {
	var names []string
	for _, t := range v.Tools {
		names = append(names, t.Name)
	}
	more := ""
	if len(names) > maxNamedTools {
		names, more = names[:maxNamedTools], fmt.Sprintf(" and %d more", len(names)-maxNamedTools)
	}
	return []string{
		fmt.Sprintf("the backends are a server of MCP at %s, with the tools %s%s", v.Path, strings.Join(names, ", "), more),
		"notifications get 202 and change nothing: a call is cancelled when its client closes the request",
	}
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: renderRule})

// rejectMalformed answers with 400 what the bridge has made of a call and is no request of a tool: with an argument in
// its path that a backend may take for more than a part of one segment, or a query parameter that is none of the
// tool's, or comes twice. The bridge makes one parameter of arguments that are written in two ways ({"a": {"b": 1},
// "a.b": 2}); an access policy sees only one of them.
func rejectMalformed(v Value) *faultv3.HTTPFault {
	var expressions []string
	for _, t := range v.Tools {
		expressions = append(expressions, t.pathExpression())
	}
	return rejectUnless(http.StatusBadRequest, ":path", expressions...)
}

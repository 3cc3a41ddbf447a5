package epp

import (
	"slices"
	"strconv"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/structpb"
)

// The words of the endpoint picker protocol.
const (
	destinationKey  = "x-gateway-destination-endpoint" // header, and key of the dynamic metadata
	servedKey       = "x-gateway-destination-endpoint-served"
	subsetKey       = "x-gateway-destination-endpoint-subset"
	namespace       = "envoy.lb"
	subsetNamespace = "envoy.lb.subset_hint"
	pickedHeader    = "x-cardea-picked"
)

// allowedSubset is the list of endpoints that the gateway allows; found is false if it allows all.
func allowedSubset(m *core.Metadata) (endpoints []string, found bool) {
	v := m.GetFilterMetadata()[subsetNamespace].GetFields()[subsetKey]
	switch v.GetKind().(type) {
	case *structpb.Value_ListValue:
		for _, e := range v.GetListValue().GetValues() {
			endpoints = append(endpoints, strings.TrimSpace(e.GetStringValue()))
		}
		return endpoints, true
	case *structpb.Value_StringValue:
		for e := range strings.SplitSeq(v.GetStringValue(), ",") {
			endpoints = append(endpoints, strings.TrimSpace(e))
		}
		return endpoints, true
	}
	return nil, false
}

// servedEndpoint is the endpoint that answered; "" if the gateway does not tell.
func servedEndpoint(m *core.Metadata) string {
	return m.GetFilterMetadata()[namespace].GetFields()[servedKey].GetStringValue()
}

// headerLookup finds headers by their lower-case names.
func headerLookup(headers *core.HeaderMap) func(name string) string {
	return func(name string) string {
		for _, h := range headers.GetHeaders() {
			if h.GetKey() == name {
				if len(h.GetRawValue()) > 0 {
					return string(h.GetRawValue())
				}
				return h.GetValue()
			}
		}
		return ""
	}
}

func setHeader(name, value string) *core.HeaderValueOption {
	return &core.HeaderValueOption{
		Header:       &core.HeaderValue{Key: name, RawValue: []byte(value)},
		AppendAction: core.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}

// pickResponse is the answer's part that names the endpoints, and the metadata that names them, too.
func (p *Picker) pickResponse(endpoints []string) (*extproc.CommonResponse, *structpb.Struct) {
	value := strings.Join(endpoints, ",")
	inner := &structpb.Struct{Fields: map[string]*structpb.Value{destinationKey: structpb.NewStringValue(value)}}
	return &extproc.CommonResponse{
		ClearRouteCache: p.cfg.ClearRouteCache,
		HeaderMutation:  &extproc.HeaderMutation{SetHeaders: []*core.HeaderValueOption{setHeader(destinationKey, value)}},
	}, &structpb.Struct{
		Fields: map[string]*structpb.Value{namespace: structpb.NewStructValue(inner)},
	}
}

// refusalResponse is the answer to a client, in the form of OpenAI's errors.
func refusalResponse(r *refusal) *extproc.ProcessingResponse {
	headers := []*core.HeaderValueOption{setHeader("content-type", "application/json"), setHeader("retry-after", "1")}
	body := errorBody(r)
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ImmediateResponse{
		ImmediateResponse: &extproc.ImmediateResponse{
			Status:  &typev3.HttpStatus{Code: typev3.StatusCode(r.status)},
			Headers: &extproc.HeaderMutation{SetHeaders: headers},
			Body:    body,
			Details: "cardea_picker_" + r.code,
		},
	}}
}

func requestHeaders(c *extproc.CommonResponse) *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestHeaders{
		RequestHeaders: &extproc.HeadersResponse{Response: c},
	}}
}

func requestBody(c *extproc.CommonResponse) *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestBody{
		RequestBody: &extproc.BodyResponse{Response: c},
	}}
}

func responseHeaders(c *extproc.CommonResponse) *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseHeaders{
		ResponseHeaders: &extproc.HeadersResponse{Response: c},
	}}
}

func responseBody(c *extproc.CommonResponse) *extproc.ProcessingResponse {
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseBody{
		ResponseBody: &extproc.BodyResponse{Response: c},
	}}
}

// streamChunk passes on a part of a body as it came.
func streamChunk(body []byte, end bool) *extproc.CommonResponse {
	return &extproc.CommonResponse{BodyMutation: &extproc.BodyMutation{
		Mutation: &extproc.BodyMutation_StreamedResponse{
			StreamedResponse: &extproc.StreamedBodyResponse{Body: body, EndOfStream: end},
		},
	}}
}

// replaceBody passes on another body than the one that came. Envoy takes away the length that the headers tell, except
// where it buffers the whole body.
func replaceBody(c *extproc.CommonResponse, body []byte, whole bool) {
	c.BodyMutation = &extproc.BodyMutation{Mutation: &extproc.BodyMutation_Body{Body: body}}
	if whole {
		length := setHeader("content-length", strconv.Itoa(len(body)))
		c.HeaderMutation.SetHeaders = append(c.HeaderMutation.SetHeaders, length)
	}
}

// maxChunk is the size in bytes of the chunks of a body that the picker makes itself: less than the 64 KiB beyond which
// some gateways take none.
const maxChunk = 62_000

// chunksOf cuts a body into chunks. end: the request's body ends with it.
func chunksOf(body []byte, end bool) (list []*extproc.HttpBody) {
	for part := range slices.Chunk(body, maxChunk) {
		list = append(list, &extproc.HttpBody{Body: part})
	}
	list[len(list)-1].EndOfStream = end
	return list
}

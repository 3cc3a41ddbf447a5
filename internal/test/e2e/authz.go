package e2e

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
)

// authorizer speaks Envoy's gRPC protocol for authorization: it allows what has the header "token", and tells the
// backend what it saw, without the header "claimed". Of what has the token "forge" it would make another request; the
// token "silent" gets no answer, "fails" an error, and "rubbish" an answer that can't be made a request of.
func authorizer(name string) http.Handler {
	server := grpc.NewServer()
	authv3.RegisterAuthorizationServer(server, check{name: name})
	return server
}

// ToolsAuthorizer speaks that protocol, too: it denies calls of some tools, of which proxies tell the name, and allows
// all else.
func ToolsAuthorizer(denied ...string) *grpc.Server {
	server := grpc.NewServer()
	authv3.RegisterAuthorizationServer(server, toolsCheck{denied: denied})
	return server
}

type toolsCheck struct {
	authv3.UnimplementedAuthorizationServer
	denied []string
}

func (c toolsCheck) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	message := r.GetAttributes().GetMetadataContext().GetFilterMetadata()["envoy.filters.http.mcp"].GetFields()
	code := codes.OK
	if tool := message["params"].GetStructValue().GetFields()["name"].GetStringValue(); slices.Contains(c.denied, tool) {
		code = codes.PermissionDenied
	}
	return &authv3.CheckResponse{Status: &status.Status{Code: int32(code)}}, nil
}

type check struct {
	authv3.UnimplementedAuthorizationServer
	name string
}

func (c check) Check(ctx context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	request := r.GetAttributes().GetRequest().GetHttp()
	seen := request.GetHeaders()
	if seen["token"] == "" {
		return &authv3.CheckResponse{
			Status: &status.Status{Code: int32(codes.PermissionDenied)},
			HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
				Status: &typev3.HttpStatus{Code: typev3.StatusCode_Unauthorized},
			}},
		}, nil
	}
	switch seen["token"] {
	case "silent":
		<-ctx.Done()
		return nil, ctx.Err()
	case "fails":
		return nil, grpcstatus.Error(codes.Unavailable, "it fails")
	}
	var headers []*corev3.HeaderValueOption
	asked, _ := metadata.FromIncomingContext(ctx)
	for key, value := range map[string]string{
		"asked-as": strings.Join(asked.Get(":authority"), " "), "allowed-by": c.name, "told": seen["x-a"],
		"context": told(r, "cardea.dev/context", "area"), "user": told(r, "cardea.dev/user", "name"),
		"body-bytes": strconv.Itoa(len(request.GetRawBody()) + len(request.GetBody())),
	} {
		headers = append(headers, &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: key, Value: value}})
	}
	allowed := &authv3.OkHttpResponse{Headers: headers, HeadersToRemove: []string{"claimed"}}
	switch seen["token"] {
	case "forge":
		forge(allowed)
	case "rubbish":
		headers[0].Header.Value = "a\r\nb: c"
	}
	return &authv3.CheckResponse{
		Status:       &status.Status{Code: int32(codes.OK)},
		HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: allowed},
	}, nil
}

// told is what the metadata of a request has, "" for nothing.
func told(r *authv3.CheckRequest, namespace, key string) string {
	fields := r.GetAttributes().GetMetadataContext().GetFilterMetadata()[namespace].GetFields()
	return fields[key].GetStringValue()
}

// forge asks for all that would have a part of a body taken for a request, or send a request to where no rule leads.
func forge(allowed *authv3.OkHttpResponse) {
	for _, h := range [][2]string{
		{"Content-Length", "0"}, {"transfer-encoding", "chunked"}, {"connection", "close"}, {"keep-alive", "timeout=1"},
		{"proxy-connection", "close"}, {"upgrade", "h2c"}, {"host", "forged"}, {":authority", "forged"}, {":path", "/forged"},
		{":method", "DELETE"}, {"x-envoy-retry-on", "5xx"},
	} {
		allowed.Headers = append(allowed.Headers, &corev3.HeaderValueOption{
			Header:       &corev3.HeaderValue{Key: h[0], Value: h[1]},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		})
	}
	allowed.HeadersToRemove = append(allowed.HeadersToRemove, "content-length", "host")
}

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// echoing is a gRPC server that has every method of every service: it answers each message with what tell tells of the
// call, in JSON. Its headers hold "served-by", its trailers "cost". A call with the header "status" gets that status at
// its end; one with "await: 3" and "of: /a.B/C" is answered when there were three calls of that method.
func echoing(name string, seen *tally, tell func(*http.Request) any) http.Handler {
	serve := func(_ any, stream grpc.ServerStream) error {
		request := stream.Context().Value(requestKey{}).(*http.Request)
		if err := stream.SetHeader(metadata.Pairs("served-by", name)); err != nil {
			return err
		}
		stream.SetTrailer(metadata.Pairs("cost", "1"))
		for {
			var message json.RawMessage
			switch err := stream.RecvMsg(&message); {
			case errors.Is(err, io.EOF):
				code, _ := strconv.ParseUint(request.Header.Get("Status"), 10, 8)
				return status.Error(codes.Code(code), "as asked for")
			case err != nil:
				return err
			}
			if err := stream.SendMsg(tell(request)); err != nil {
				return err
			}
		}
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(serve), grpc.ForceServerCodec(AsJSON{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempt := seen.add(r.URL.Path, r.Method+" "+r.RequestURI)
		if n, err := strconv.Atoi(r.Header.Get("Await")); err == nil {
			seen.await(r, r.Header.Get("Of"), n)
			attempt = seen.of(r.Header.Get("Of"))
		}
		r.Header.Set("Attempt", strconv.Itoa(attempt))
		server.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
	})
}

type requestKey struct{}

func isGRPC(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// asJSON is a codec whose messages are JSON.
type AsJSON struct{}

func (AsJSON) Name() string                       { return "json" }
func (AsJSON) Marshal(v any) ([]byte, error)      { return json.Marshal(v) }
func (AsJSON) Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

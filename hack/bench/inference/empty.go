package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"cardea.dev/cardea/internal/epp"
)

// asEmpty is set for a process that is the external processor that does nothing, to the address at which it listens.
const asEmpty = "CARDEA_BENCH_EMPTY"

// empty is an external processor that lets everything pass: the lower bound of any picker.
type empty struct {
	extproc.UnimplementedExternalProcessorServer
}

// beEmpty makes this process the external processor that does nothing, if it was started for that: its CPU time is then
// its own.
func beEmpty() {
	at := os.Getenv(asEmpty)
	if at == "" {
		return
	}
	if err := serveEmpty(at); err != nil {
		fmt.Fprintln(os.Stderr, "bench: the empty processor:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveEmpty serves over TLS as a picker does.
func serveEmpty(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	secret, err := epp.SelfSigned()
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(secret)))
	extproc.RegisterExternalProcessorServer(server, empty{})
	return server.Serve(l)
}

// Process answers each message as soon as it is there. Parts of bodies go back as they came (FULL_DUPLEX_STREAMED).
func (empty) Process(stream extproc.ExternalProcessor_ProcessServer) error {
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := stream.Send(passed(m)); err != nil {
			return err
		}
	}
}

// passed is the answer that changes nothing.
func passed(m *extproc.ProcessingRequest) *extproc.ProcessingResponse {
	switch r := m.GetRequest().(type) {
	case *extproc.ProcessingRequest_RequestHeaders:
		return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestHeaders{
			RequestHeaders: &extproc.HeadersResponse{},
		}}
	case *extproc.ProcessingRequest_RequestBody:
		return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestBody{
			RequestBody: &extproc.BodyResponse{Response: &extproc.CommonResponse{BodyMutation: &extproc.BodyMutation{
				Mutation: &extproc.BodyMutation_StreamedResponse{StreamedResponse: &extproc.StreamedBodyResponse{
					Body: r.RequestBody.GetBody(), EndOfStream: r.RequestBody.GetEndOfStream(),
				}},
			}}},
		}}
	case *extproc.ProcessingRequest_RequestTrailers:
		return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestTrailers{
			RequestTrailers: &extproc.TrailersResponse{},
		}}
	}
	return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseHeaders{
		ResponseHeaders: &extproc.HeadersResponse{},
	}}
}

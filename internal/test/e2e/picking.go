package e2e

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/internal/core/model"
)

// Pick is what a picker does with a request.
type Pick struct {
	Endpoints string // what it names, such as "127.0.0.1:1,127.0.0.1:2"; "": nothing
	By        string // "header" or "metadata"; else both
	Early     bool   // it answers before it has the body; else at its end, as the pickers of the project do
	Fault     Fault  // what else it does
	// Answered are headers of the answer, when the proxy has told which endpoint has served; "": it did not tell.
	Answered func(served string) map[string]string
	Ended    func() // nil, or called when the stream has ended
}

// Fault is what a picker does that it should not.
type Fault string

// The faults.
const (
	Hang    Fault = "hang"    // it says nothing
	Die     Fault = "die"     // it ends the stream with an error at the first part of a body, or else at the headers
	Rubbish Fault = "rubbish" // its first message is no answer to what it was sent
	Refuse  Fault = "503"     // it answers the request itself
	Shed    Fault = "429"     // it answers the request itself
	// Unstreamed: it keeps the answer to the headers until the body has ended, in any mode, and its answers to bodies
	// are empty: nothing is sent back. This is lwepp v1.6.0 of the project.
	Unstreamed Fault = "unstreamed"
)

// PickerServer serves Envoy's external processing over TLS with a certificate that nobody knows. pick is called with
// the headers of each request, by any goroutine.
func PickerServer(pick func(http.Header) Pick) *grpc.Server {
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{StrangerCertificate().TLSCertificate()}, NextProtos: []string{"h2"},
	})))
	extprocv3.RegisterExternalProcessorServer(server, picking{pick: pick})
	return server
}

type picking struct {
	extprocv3.UnimplementedExternalProcessorServer
	pick func(http.Header) Pick
}

// pickerStream is one request.
type pickerStream struct {
	extprocv3.ExternalProcessor_ProcessServer
	Pick
	duplex bool
	picked bool
	body   []byte
}

// Process implements the service.
func (p picking) Process(stream extprocv3.ExternalProcessor_ProcessServer) error {
	s := &pickerStream{ExternalProcessor_ProcessServer: stream}
	defer func() {
		if s.Ended != nil {
			s.Ended()
		}
	}()
	for {
		message, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if protocol := message.GetProtocolConfig(); protocol != nil {
			s.duplex = protocol.GetRequestBodyMode() == extprocfilterv3.ProcessingMode_FULL_DUPLEX_STREAMED
		}
		if h := message.GetRequestHeaders(); h != nil {
			s.Pick = p.pick(headersOf(h))
		}
		if err := s.answer(message); err != nil {
			return err
		}
	}
}

func headersOf(h *extprocv3.HttpHeaders) http.Header {
	read := http.Header{}
	for _, v := range h.GetHeaders().GetHeaders() {
		read.Add(v.GetKey(), string(v.GetRawValue())+v.GetValue())
	}
	return read
}

// answer answers a message, or waits for more.
func (s *pickerStream) answer(m *extprocv3.ProcessingRequest) error {
	headers, body := m.GetRequestHeaders(), m.GetRequestBody()
	switch {
	case m.GetResponseHeaders() != nil:
		return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseHeaders{
			ResponseHeaders: &extprocv3.HeadersResponse{Response: setHeaders(s.Answered(servedBy(m)))},
		}})
	case s.Fault == Hang:
		<-s.Context().Done()
		return s.Context().Err()
	case s.Fault == Die && (body != nil || headers.GetEndOfStream()):
		return status.Error(codes.Internal, "as asked for")
	case s.Fault == Rubbish:
		return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseTrailers{
			ResponseTrailers: &extprocv3.TrailersResponse{},
		}})
	case s.Fault == Refuse, s.Fault == Shed:
		return s.refuse()
	case s.Fault == Unstreamed:
		return s.answerUnstreamed(m)
	case s.duplex:
		return s.answerDuplex(m)
	case headers != nil && (headers.GetEndOfStream() || s.Early):
		return s.choose(headersResponse)
	case headers != nil:
		return s.Send(headersResponse(&extprocv3.CommonResponse{}))
	case s.picked:
		return s.Send(bodyResponse(&extprocv3.CommonResponse{}))
	default:
		return s.choose(bodyResponse)
	}
}

// answerUnstreamed answers each part of a body with nothing, after the choice if it is the last one.
func (s *pickerStream) answerUnstreamed(m *extprocv3.ProcessingRequest) error {
	headers, body := m.GetRequestHeaders(), m.GetRequestBody()
	if headers.GetEndOfStream() || body.GetEndOfStream() {
		if err := s.choose(headersResponse); err != nil {
			return err
		}
	}
	if body == nil {
		return nil
	}
	return s.Send(bodyResponse(&extprocv3.CommonResponse{}))
}

// answerDuplex sends bodies back as they come, or after the choice.
func (s *pickerStream) answerDuplex(m *extprocv3.ProcessingRequest) error {
	headers, body := m.GetRequestHeaders(), m.GetRequestBody()
	end := headers.GetEndOfStream() || body.GetEndOfStream() || m.GetRequestTrailers() != nil
	s.body = append(s.body, body.GetBody()...)
	if !s.picked && !end && !s.Early {
		return nil
	}
	if !s.picked {
		if err := s.choose(headersResponse); err != nil {
			return err
		}
	}
	if body == nil {
		return nil
	}
	const part = 60_000 // a message is never larger
	for chunk := range slices.Chunk(s.body, part) {
		if err := s.sendBack(chunk, false); err != nil {
			return err
		}
	}
	s.body = nil
	if !end {
		return nil
	}
	return s.sendBack(nil, true)
}

func (s *pickerStream) sendBack(part []byte, end bool) error {
	return s.Send(bodyResponse(&extprocv3.CommonResponse{BodyMutation: &extprocv3.BodyMutation{
		Mutation: &extprocv3.BodyMutation_StreamedResponse{
			StreamedResponse: &extprocv3.StreamedBodyResponse{Body: part, EndOfStream: end},
		},
	}}))
}

// choose makes the choice, as the answer to the headers or to the body.
func (s *pickerStream) choose(answer func(*extprocv3.CommonResponse) *extprocv3.ProcessingResponse) error {
	s.picked = true
	headers := map[string]string{}
	if s.Endpoints != "" && s.By != "metadata" {
		headers[model.DestinationHeader] = s.Endpoints
	}
	r := answer(setHeaders(headers))
	if s.Endpoints != "" && s.By != "header" {
		r.DynamicMetadata = pickMetadata(s.Endpoints)
	}
	return s.Send(r)
}

func (s *pickerStream) refuse() error {
	refusal := &extprocv3.ImmediateResponse{Status: &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable}}
	if s.Fault == Shed {
		refusal.Status.Code = typev3.StatusCode_TooManyRequests
	}
	return s.Send(&extprocv3.ProcessingResponse{
		Response: &extprocv3.ProcessingResponse_ImmediateResponse{ImmediateResponse: refusal},
	})
}

func headersResponse(c *extprocv3.CommonResponse) *extprocv3.ProcessingResponse {
	return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestHeaders{
		RequestHeaders: &extprocv3.HeadersResponse{Response: c},
	}}
}

func bodyResponse(c *extprocv3.CommonResponse) *extprocv3.ProcessingResponse {
	return &extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_RequestBody{
		RequestBody: &extprocv3.BodyResponse{Response: c},
	}}
}

func setHeaders(headers map[string]string) *extprocv3.CommonResponse {
	m := &extprocv3.HeaderMutation{}
	for name, value := range headers {
		m.SetHeaders = append(m.SetHeaders, &corev3.HeaderValueOption{
			Header: &corev3.HeaderValue{Key: name, RawValue: []byte(value)},
		})
	}
	return &extprocv3.CommonResponse{HeaderMutation: m}
}

// pickMetadata is the choice as metadata.
func pickMetadata(endpoints string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		model.DestinationNamespace: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			model.DestinationHeader: structpb.NewStringValue(endpoints),
		}}),
	}}
}

// servedBy is the endpoint that a proxy says has served.
func servedBy(m *extprocv3.ProcessingRequest) string {
	told := m.GetMetadataContext().GetFilterMetadata()[model.DestinationNamespace].GetFields()
	return told[model.DestinationHeader+"-served"].GetStringValue()
}

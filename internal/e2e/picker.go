package e2e

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extprocfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"cardea.dev/cardea/internal/model"
)

// Picker is an endpoint picker of an inference pool, as tests need one: it speaks Envoy's external processing over TLS
// with a certificate that nobody knows, and does what the headers of a request say:
//
//	x-pick: ENDPOINTS  what it names, such as "127.0.0.1:1,127.0.0.1:2"; none: nothing
//	x-pick-by: header  only in the header, or only in the "metadata"; else in both
//	x-pick-when: early it answers before it has the body; else at its end, as the pickers of the project do
//	x-pick-fault:      what else it does
//
//	  hang      it says nothing
//	  die       it ends the stream with an error when the first part of a body is there, or else the headers
//	  rubbish   its first message is no answer to what it was sent
//	  503, 429  it answers the request itself
//
// What it does in the answer's phase is to add the header "told-served": the endpoint that the proxy says has served.
type Picker struct {
	extprocv3.UnimplementedExternalProcessorServer
	Port   int
	server *grpc.Server

	mu    sync.Mutex
	asked []http.Header // what each request had for headers, in the order of their arrival
	open  int           // streams that have not ended
}

// StartPicker starts a Picker at an address of the machine.
func StartPicker(t testing.TB) *Picker {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Picker{Port: l.Addr().(*net.TCPAddr).Port}
	p.serve(l)
	t.Cleanup(func() { p.server.Stop() })
	return p
}

func (p *Picker) serve(l net.Listener) {
	p.server = grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{strangerCertificate().TLS()}, NextProtos: []string{"h2"},
	})))
	extprocv3.RegisterExternalProcessorServer(p.server, p)
	go func() { _ = p.server.Serve(l) }() // it ends with the test
}

// Asked is how many requests it was asked about, and the headers of the last one.
func (p *Picker) Asked() (n int, last http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) == 0 {
		return 0, nil
	}
	return len(p.asked), p.asked[len(p.asked)-1]
}

// pickerStream is one request.
type pickerStream struct {
	extprocv3.ExternalProcessor_ProcessServer
	header http.Header
	duplex bool
	picked bool
	body   []byte
}

// Process implements the service.
func (p *Picker) Process(stream extprocv3.ExternalProcessor_ProcessServer) error {
	s := &pickerStream{ExternalProcessor_ProcessServer: stream}
	p.count(1)
	defer p.count(-1)
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
			s.header = headersOf(h)
			p.mu.Lock()
			p.asked = append(p.asked, s.header)
			p.mu.Unlock()
		}
		if err := s.answer(message); err != nil {
			return err
		}
	}
}

// count counts streams that begin and end.
func (p *Picker) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open += n
}

// Open is how many requests it knows as under way.
func (p *Picker) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
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
	switch fault := s.header.Get("X-Pick-Fault"); {
	case m.GetResponseHeaders() != nil:
		return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseHeaders{
			ResponseHeaders: &extprocv3.HeadersResponse{Response: setHeader("told-served", servedBy(m))},
		}})
	case fault == "hang":
		<-s.Context().Done()
		return s.Context().Err()
	case fault == "die" && (body != nil || headers.GetEndOfStream()):
		return status.Error(codes.Internal, "as asked for")
	case fault == "rubbish":
		return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ResponseTrailers{
			ResponseTrailers: &extprocv3.TrailersResponse{},
		}})
	case fault == "503", fault == "429":
		return s.refuse(fault)
	case s.duplex:
		return s.answerDuplex(m)
	case headers != nil && (headers.GetEndOfStream() || s.header.Get("X-Pick-When") == "early"):
		return s.pick()
	case headers != nil:
		return s.Send(headersResponse(&extprocv3.CommonResponse{}))
	case s.picked:
		return s.Send(bodyResponse(&extprocv3.CommonResponse{}))
	default:
		s.picked = true
		r := bodyResponse(setHeader(model.DestinationHeader, s.header.Get("X-Pick")))
		r.DynamicMetadata = pickMetadata(s.header.Get("X-Pick"))
		return s.Send(r)
	}
}

// answerDuplex sends bodies back as they come, or after the choice.
func (s *pickerStream) answerDuplex(m *extprocv3.ProcessingRequest) error {
	headers, body := m.GetRequestHeaders(), m.GetRequestBody()
	end := headers.GetEndOfStream() || body.GetEndOfStream() || m.GetRequestTrailers() != nil
	s.body = append(s.body, body.GetBody()...)
	if !s.picked && !end && s.header.Get("X-Pick-When") != "early" {
		return nil
	}
	if !s.picked {
		s.picked = true
		if err := s.pick(); err != nil {
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

// pick answers the headers with the choice.
func (s *pickerStream) pick() error {
	s.picked = true
	endpoints, by := s.header.Get("X-Pick"), s.header.Get("X-Pick-By")
	common := &extprocv3.CommonResponse{}
	if endpoints != "" && by != "metadata" {
		common = setHeader(model.DestinationHeader, endpoints)
	}
	r := headersResponse(common)
	if endpoints != "" && by != "header" {
		r.DynamicMetadata = pickMetadata(endpoints)
	}
	return s.Send(r)
}

func (s *pickerStream) refuse(code string) error {
	refusal := &extprocv3.ImmediateResponse{Status: &typev3.HttpStatus{Code: typev3.StatusCode_ServiceUnavailable}}
	if code == "429" {
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

func setHeader(name, value string) *extprocv3.CommonResponse {
	return &extprocv3.CommonResponse{HeaderMutation: &extprocv3.HeaderMutation{
		SetHeaders: []*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: name, RawValue: []byte(value)}}},
	}}
}

// pickMetadata is the choice as metadata.
func pickMetadata(endpoints string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		model.DestinationSpace: structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			model.DestinationHeader: structpb.NewStringValue(endpoints),
		}}),
	}}
}

// servedBy is the endpoint that a proxy says has served.
func servedBy(m *extprocv3.ProcessingRequest) string {
	told := m.GetMetadataContext().GetFilterMetadata()[model.DestinationSpace].GetFields()
	return strings.TrimSpace(told[model.DestinationHeader+"-served"].GetStringValue())
}

package epp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cardea.dev/cardea/internal/epp/prompt"
)

// stream is one request of a client, as the gateway tells of it. How much it tells of bodies, and where the answer must
// be, depends on its mode:
//
//	NONE, STREAMED           the headers are answered at once, by what they say; chunks pass unchanged
//	BUFFERED (or PARTIAL)    the headers are answered at once, empty; the pick is in the answer to the body
//	FULL_DUPLEX_STREAMED     the headers are answered with the pick when enough of the body is there; the chunks, which
//	                         the picker holds until then, go back after it
//
// In all of them the headers are answered with the pick where nothing of the body would be read (headOnly).
//
// A body that was held or buffered can get another model (package rewrite).
type stream struct {
	p                 *Picker
	request, response filter.ProcessingMode_BodySendMode
	call              call
	began             time.Time
	heldChunks        []*extproc.HttpBody // chunks that wait for the pick
	heldBytes         int                 // of them
	decided           bool
	flight            *inFlightRequest // nil until an endpoint was picked
}

const duplex = filter.ProcessingMode_FULL_DUPLEX_STREAMED

// errDone ends a stream: the client was answered.
var errDone = errors.New("answered")

// Process serves one request.
func (p *Picker) Process(grpcStream extproc.ExternalProcessor_ProcessServer) error {
	// Gateways that do not tell their mode are of the published protocol, which wants full duplex.
	s := &stream{p: p, request: duplex, response: duplex, began: time.Now()}
	defer func() { s.flight.end() }()
	for {
		message, err := grpcStream.Recv()
		switch {
		case err == io.EOF, status.Code(err) == codes.Canceled, errors.Is(err, context.Canceled):
			return nil
		case err != nil:
			return err
		}
		answers, err := s.handleMessage(message)
		for _, a := range answers {
			if err := grpcStream.Send(a); err != nil {
				return err
			}
		}
		switch {
		case err == errDone:
			return nil
		case err != nil:
			return err
		}
	}
}

// handleMessage reads one message and returns the answers to it.
func (s *stream) handleMessage(m *extproc.ProcessingRequest) ([]*extproc.ProcessingResponse, error) {
	if c := m.GetProtocolConfig(); c != nil {
		s.request, s.response = c.GetRequestBodyMode(), c.GetResponseBodyMode()
	}
	switch r := m.GetRequest().(type) {
	case *extproc.ProcessingRequest_RequestHeaders:
		return s.requestHeaders(m, r.RequestHeaders)
	case *extproc.ProcessingRequest_RequestBody:
		return s.requestBody(r.RequestBody)
	case *extproc.ProcessingRequest_RequestTrailers:
		return s.requestTrailers()
	case *extproc.ProcessingRequest_ResponseHeaders:
		return s.responseHeaders(m, r.ResponseHeaders)
	case *extproc.ProcessingRequest_ResponseBody:
		return s.responseBody(r.ResponseBody)
	case *extproc.ProcessingRequest_ResponseTrailers:
		s.flight.end()
		return singleResponse(&extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_ResponseTrailers{
			ResponseTrailers: &extproc.TrailersResponse{},
		}})
	}
	return nil, status.Error(codes.Unimplemented, "the picker does not know this message")
}

func singleResponse(r *extproc.ProcessingResponse) ([]*extproc.ProcessingResponse, error) {
	return []*extproc.ProcessingResponse{r}, nil
}

func (s *stream) requestHeaders(
	m *extproc.ProcessingRequest, h *extproc.HttpHeaders,
) ([]*extproc.ProcessingResponse, error) {
	s.call.header = headerLookup(h.GetHeaders())
	s.call.path = s.call.header(":path")
	s.call.allowedEndpoints, s.call.restricted = allowedSubset(m.GetMetadataContext())
	whole := h.GetEndOfStream()
	buffered := s.request == filter.ProcessingMode_BUFFERED || s.request == filter.ProcessingMode_BUFFERED_PARTIAL
	switch {
	case !whole && s.headOnly():
		return s.pickHead(buffered)
	case !whole && s.request == duplex:
		return nil, nil
	case !whole && buffered:
		return singleResponse(requestHeaders(nil))
	}
	return s.pickEndpoints(requestHeaders)
}

// headOnly: nothing of the body would be read, or it begins after the answer. Its end may wait for the answer: that of
// a WebSocket does, and that of a gRPC stream may.
func (s *stream) headOnly() bool {
	return s.call.header("upgrade") != "" || s.call.header(":method") == http.MethodConnect ||
		prompt.KindOf(s.call.path) == prompt.Other
}

// pickHead picks by load alone, and has the gateway pass the body on without waiting for it, if it allows that.
func (s *stream) pickHead(buffered bool) ([]*extproc.ProcessingResponse, error) {
	answers, err := s.pickEndpoints(requestHeaders)
	if err == nil && buffered {
		answers[0].ModeOverride = &filter.ProcessingMode{
			RequestBodyMode: filter.ProcessingMode_NONE, ResponseHeaderMode: filter.ProcessingMode_SEND,
			ResponseBodyMode: s.response,
		}
	}
	return answers, err
}

// pickEndpoints decides; in says what the answer is an answer to.
func (s *stream) pickEndpoints(
	in func(*extproc.CommonResponse) *extproc.ProcessingResponse,
) ([]*extproc.ProcessingResponse, error) {
	s.decided = true
	began := time.Now()
	d := s.p.decideCall(s.call)
	s.p.metrics.countDecision(d, began)
	s.call.body = nil
	if d.refused != nil {
		answers, _ := singleResponse(refusalResponse(d.refused))
		return answers, errDone
	}
	s.flight = s.p.trackRequest(d)
	common, metadata := s.p.pickResponse(d.endpoints)
	switch {
	case d.body == nil:
	case s.request == duplex:
		s.heldChunks = chunksOf(d.body, s.heldChunks[len(s.heldChunks)-1].GetEndOfStream())
	default:
		replaceBody(common, d.body, s.request == filter.ProcessingMode_BUFFERED)
	}
	answer := in(common)
	answer.DynamicMetadata = metadata
	return singleResponse(answer)
}

func (s *stream) requestBody(b *extproc.HttpBody) ([]*extproc.ProcessingResponse, error) {
	switch {
	case s.request != duplex && s.decided:
		return singleResponse(requestBody(nil))
	case s.request != duplex:
		s.call.body = b.GetBody()
		return s.pickEndpoints(requestBody)
	case s.decided:
		return singleResponse(requestBody(streamChunk(b.GetBody(), b.GetEndOfStream())))
	}
	s.heldChunks = append(s.heldChunks, b)
	s.heldBytes += len(b.GetBody())
	if !b.GetEndOfStream() && s.heldBytes < s.p.cfg.BodyLimit {
		return nil, nil
	}
	return s.releaseHeld()
}

// releaseHeld picks by the chunks that were held, and passes them on.
func (s *stream) releaseHeld() ([]*extproc.ProcessingResponse, error) {
	parts := make([][]byte, len(s.heldChunks))
	for i, b := range s.heldChunks {
		parts[i] = b.GetBody()
	}
	s.call.body = bytes.Join(parts, nil)
	answers, err := s.pickEndpoints(requestHeaders)
	if err != nil {
		return answers, err
	}
	for _, b := range s.heldChunks {
		answers = append(answers, requestBody(streamChunk(b.GetBody(), b.GetEndOfStream())))
	}
	s.heldChunks = nil
	return answers, nil
}

// requestTrailers: trailers end the body. If nothing was picked, then only in full duplex can a header be set; but the
// metadata names the endpoints, too.
func (s *stream) requestTrailers() (answers []*extproc.ProcessingResponse, err error) {
	trailers := func(*extproc.CommonResponse) *extproc.ProcessingResponse {
		return &extproc.ProcessingResponse{Response: &extproc.ProcessingResponse_RequestTrailers{
			RequestTrailers: &extproc.TrailersResponse{},
		}}
	}
	switch {
	case s.decided:
	case s.request == duplex:
		if answers, err = s.releaseHeld(); err != nil {
			return answers, err
		}
	default:
		return s.pickEndpoints(trailers)
	}
	return append(answers, trailers(nil)), nil
}

func (s *stream) responseHeaders(
	m *extproc.ProcessingRequest, h *extproc.HttpHeaders,
) ([]*extproc.ProcessingResponse, error) {
	s.flight.moveTo(servedEndpoint(m.GetMetadataContext()))
	var common *extproc.CommonResponse
	if s.p.cfg.ShowPick && s.flight != nil && s.flight.endpoint != "" {
		common = &extproc.CommonResponse{HeaderMutation: &extproc.HeaderMutation{}}
		common.HeaderMutation.SetHeaders = append(common.HeaderMutation.SetHeaders,
			setHeader(pickedHeader, s.flight.endpoint))
	}
	if h.GetEndOfStream() {
		s.flight.end()
	}
	return singleResponse(responseHeaders(common))
}

func (s *stream) responseBody(b *extproc.HttpBody) ([]*extproc.ProcessingResponse, error) {
	if b.GetEndOfStream() {
		s.flight.end()
	}
	if s.response == duplex {
		return singleResponse(responseBody(streamChunk(b.GetBody(), b.GetEndOfStream())))
	}
	return singleResponse(responseBody(nil))
}

package calls

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// grpcMethod is written where other calls have their HTTP method.
const grpcMethod = "GRPC"

// codes are the names of gRPC's statuses, by number.
var codes = []string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

func isCode(name string) bool { return slices.Contains(codes, name) }

// grpc makes a unary call, whose messages are JSON. It does not use a gRPC library, so that the proxy's answer is seen
// unchanged.
func (c *Client) grpc(ctx context.Context, call Call) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, call.URL.String(),
		bytes.NewReader(frame([]byte("{}"))))
	if err != nil {
		return Answer{}, err
	}
	request.Header = call.Header.Clone()
	request.Header.Set("Content-Type", "application/grpc+json")
	request.Header.Set("Te", "trailers")
	by, err := c.of(call)
	if err != nil {
		return Answer{}, err
	}
	answer, body, err := send(by.http2, request, call.Host)
	if body == nil {
		return Answer{}, err
	}
	status := answer.Trailer.Get("Grpc-Status")
	if status == "" { // the answer has only trailers
		status = answer.Header.Get("Grpc-Status")
		answer.Body = answer.Header.Get("Grpc-Message")
	}
	n, err := strconv.Atoi(status)
	if err != nil || n < 0 || n >= len(codes) {
		return answer, fmt.Errorf("grpc-status is %q, of an answer %d", status, answer.Status)
	}
	answer.Code = codes[n]
	if len(body) > frameHead {
		// An answer that is not a backend's leaves Seen empty.
		_ = json.Unmarshal(body[frameHead:], &answer.Seen)
	}
	return answer, nil
}

// frameHead is the length of what precedes a message: whether it is compressed, and its length.
const frameHead = 5

func frame(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

package simulate

import (
	"net/http"
	"reflect"
	"strconv"
)

// answer is the proxy's own.
func (s *simulation) answer(status int) { s.add(Outcome{Status: status}) }

// add adds an outcome of the share of requests that is on its way. It joins one that is the same.
func (s *simulation) add(o Outcome) {
	if o.Share == 0 {
		o.Share = 1
	}
	o.Share *= s.share
	if o.Status != 0 && isGRPC(s.request) {
		o.Header = o.Header.Clone()
		if o.Header == nil {
			o.Header = http.Header{}
		}
		o.Header.Set("Grpc-Status", strconv.Itoa(grpcStatus(o.Status)))
		o.Status = http.StatusOK
	}
	for i, other := range s.result.Outcomes {
		share := other.Share
		if other.Share = o.Share; reflect.DeepEqual(other, o) {
			s.result.Outcomes[i].Share = share + o.Share
			return
		}
	}
	s.result.Outcomes = append(s.result.Outcomes, o)
}

// Answer is the status of the proxy's own answer in words: "404", of gRPC "UNIMPLEMENTED (12)"; "" if a backend
// answers.
func (o Outcome) Answer() string {
	switch code := o.Header.Get("Grpc-Status"); {
	case o.Status == 0:
		return ""
	case code != "":
		return grpcNames[code] + " (" + code + ")"
	}
	return strconv.Itoa(o.Status)
}

// grpcNames are those of the statuses that Envoy answers by itself.
var grpcNames = map[string]string{
	"2": "UNKNOWN", "7": "PERMISSION_DENIED", "12": "UNIMPLEMENTED", "13": "INTERNAL", "14": "UNAVAILABLE",
	"16": "UNAUTHENTICATED",
}

// grpcStatus is what Envoy tells a gRPC client in place of an HTTP status of its own.
func grpcStatus(status int) int {
	switch status {
	case http.StatusBadRequest:
		return 13
	case http.StatusUnauthorized:
		return 16
	case http.StatusForbidden:
		return 7
	case http.StatusNotFound:
		return 12
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 14
	}
	return 2
}

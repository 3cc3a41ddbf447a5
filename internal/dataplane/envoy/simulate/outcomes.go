package simulate

import (
	"net/http"
	"reflect"
	"strconv"

	"cardea.dev/cardea/internal/core/request"
)

// addAnswer is the proxy's own.
func (s *simulation) addAnswer(status int) {
	s.addOutcome(Outcome{Effect: request.Effect{Status: status}})
}

// addOutcome adds an outcome of the share of requests that is on its way. It joins one that is the same.
func (s *simulation) addOutcome(o Outcome) {
	if o.Share == 0 {
		o.Share = 1
	}
	o.Share *= s.share
	o.Gates = append(s.gates[:len(s.gates):len(s.gates)], o.Gates...)
	s.addManagerHeaders(&o)
	if o.Status != 0 && isGRPC(s.current) {
		o.Header = o.Header.Clone()
		if o.Header == nil {
			o.Header = http.Header{}
		}
		o.Header.Set(request.GRPCStatus, strconv.Itoa(grpcStatus(o.Status)))
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

// addManagerHeaders makes the connection manager's edits in an answer, but for the server's name in the proxy's own.
func (s *simulation) addManagerHeaders(o *Outcome) {
	edits := s.managerEdits()
	if o.Status == 0 {
		o.Response = append(o.Response, edits...)
		return
	}
	for _, e := range edits {
		if e.Name == "server" {
			continue
		}
		if o.Header == nil {
			o.Header = http.Header{}
		}
		e.ApplyTo(o.Header)
	}
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

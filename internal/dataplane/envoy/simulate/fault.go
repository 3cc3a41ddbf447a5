package simulate

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"

	"cardea.dev/cardea/internal/core/request"
)

// runFault runs the filter that answers the requests with certain headers with a status.
func (s *simulation) runFault(m *faultv3.HTTPFault, r *routev3.Route, f *filterEffects) {
	s.noteUnknownFields(m, "abort", "headers")
	s.noteUnknownFields(m.GetAbort(), "http_status", "percentage")
	if p := m.GetAbort().GetPercentage(); p.GetNumerator() != 100 || p.GetDenominator() != 0 {
		s.noteNotSimulated("FaultAbort.percentage")
	}
	for _, h := range m.GetHeaders() {
		if s.headerMismatch(h) != "" {
			return
		}
	}
	f.answer = &Outcome{
		Route: r.GetName(), Match: r.GetMatch(), Effect: request.Effect{Status: int(m.GetAbort().GetHttpStatus())},
	}
}

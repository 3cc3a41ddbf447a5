package simulate

import (
	"cmp"
	"net/http"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"

	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/dataplane/envoy/httpfilters"
)

// pickerSlot is where the pickers of inference pools stand. Others that process requests are not simulated.
const pickerSlot = httpfilters.Picker

// askPicker has a picker asked which endpoint gets a request. One that has no endpoint itself fails at once; what
// another one says can't be told.
func (s *simulation) askPicker(p *extprocv3.ExternalProcessor, r *routev3.Route, f *filterEffects) {
	s.noteUnknownFields(p, "grpc_service", "failure_mode_allow", "status_on_error", "route_cache_action",
		"processing_mode",
		"message_timeout", "metadata_options")
	switch endpoints := s.config.endpoints[p.GetGrpcService().GetEnvoyGrpc().GetClusterName()]; {
	case len(s.healthyEndpoints(endpoints)) > 0:
		f.picker = p
	case !p.GetFailureModeAllow():
		status := cmp.Or(int(p.GetStatusOnError().GetCode()), http.StatusInternalServerError)
		f.answer = &Outcome{Route: r.GetName(), Match: r.GetMatch(), Effect: request.Effect{Status: status}}
	}
}

// pickerGates is what depends on a picker's answer.
func (f filterEffects) pickerGates() []request.Verdict {
	switch {
	case f.picker == nil:
		return nil
	case f.picker.GetFailureModeAllow():
		return []request.Verdict{{Status: request.AnyStatus, RefusedIf: "the picker refuses it"}}
	}
	return []request.Verdict{{Status: request.AnyStatus, If: "the picker names one of the endpoints"}}
}

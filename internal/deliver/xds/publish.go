package xds

import (
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// lockSet finds or makes a Gateway's set, and locks it. The server's lock is not held meanwhile, so waiting for one
// Gateway holds up no other.
func (s *Server) lockSet(gateway model.ObjectRef) *gatewaySet {
	for {
		s.mu.Lock()
		if s.sets[gateway] == nil {
			s.sets[gateway] = newSet(gateway, s.protocol)
		}
		set := s.sets[gateway]
		s.mu.Unlock()
		set.mu.Lock()
		if !set.forgotten {
			return set
		}
		set.mu.Unlock()
	}
}

// joinProxy takes a proxy in, unless there are too many.
func (s *Server) joinProxy(gateway model.ObjectRef, id, proxy string, wake func()) (*stream, error) {
	set := s.lockSet(gateway)
	defer set.mu.Unlock()
	if err := s.cfg.Limits.checkStreams(set, id); err != nil {
		return nil, s.reportLimit(gateway, id, err)
	}
	st := newStream(set, id, proxy)
	st.wake = wake
	s.publishFeedback(set)
	s.metrics.streams.Inc()
	return st, nil
}

// removeProxy takes a proxy out, and forgets a Gateway that has neither resources nor proxies.
func (s *Server) removeProxy(st *stream) {
	st.set.mu.Lock()
	defer st.set.mu.Unlock()
	st.now = s.cfg.Now()
	st.close()
	s.publishFeedback(st.set)
	s.metrics.streams.Dec()
	s.forgetEmpty(st.set)
}

// forgetEmpty forgets a set that is empty. The set's lock is held. The row goes before another set can be made, which
// has its own.
func (s *Server) forgetEmpty(set *gatewaySet) {
	if !set.isEmpty() {
		return
	}
	set.forgotten = true
	s.cfg.Graph.Apply("proxies", func(b *flow.Batch) { s.cfg.Feedback.Proxies.Delete(b, set.gateway) })
	s.mu.Lock()
	delete(s.sets, set.gateway)
	s.mu.Unlock()
}

// applyTurn gives a Gateway's set the changes of one turn. A proxy sees all of them or none.
func (s *Server) applyTurn(gateway model.ObjectRef, updates []update, rev flow.Rev, at time.Time) {
	set := s.lockSet(gateway)
	defer set.mu.Unlock()
	set.rev = rev
	set.applyUpdates(updates, at)
	s.publishFeedback(set)
	s.forgetEmpty(set)
}

// stepStream runs the core for one stream: it takes a request, if there is one, and returns what to send. An error ends
// the stream.
func (s *Server) stepStream(st *stream, req *discoveryv3.DeltaDiscoveryRequest) ([]*response, time.Time, error) {
	st.set.mu.Lock()
	defer st.set.mu.Unlock()
	st.now = s.cfg.Now()
	if req != nil {
		if err := s.cfg.Limits.checkRequest(st, req); err != nil {
			return nil, time.Time{}, s.reportLimit(st.set.gateway, st.id, err)
		}
		if t := s.protocol.specOfURL(req.GetTypeUrl()); t != nil && req.GetResponseNonce() != "" {
			s.metrics.recordAnswer(t.Type, req.GetErrorDetail() != nil)
		}
		st.onRequest(req)
	}
	out, wait := st.runStep()
	for _, k := range st.ackLatencies {
		s.metrics.ackSeconds.WithLabelValues(s.protocol.Types.Name(k.typ)).Observe(k.d.Seconds())
	}
	st.ackLatencies = nil
	s.publishFeedback(st.set)
	return out, wait, nil
}

// publishFeedback brings what the core has to tell into the graph. The set's lock is held, so that news keep their
// order; Apply only queues.
func (s *Server) publishFeedback(set *gatewaySet) {
	n := set.feedback
	if n.isEmpty() {
		return
	}
	set.feedback = pendingFeedback{}
	fb := s.cfg.Feedback
	s.cfg.Graph.Apply("proxies", func(b *flow.Batch) {
		for k := range n.removed {
			fb.Acked.Delete(b, k)
		}
		for k, hash := range n.acked {
			fb.Acked.Set(b, k, hash)
		}
		for k := range n.ended {
			fb.Refused.Delete(b, k)
		}
		for k, said := range n.refused {
			fb.Refused.Set(b, k, said)
		}
		if n.proxies != nil {
			fb.Proxies.Set(b, set.gateway, *n.proxies)
		}
	})
	for k := range n.refused {
		s.metrics.refusals.WithLabelValues(k.Origin.Object.Kind().String()).Inc()
	}
	s.logRefusals(set.gateway, n.refused)
	for _, said := range n.unattributed {
		s.cfg.Log.Warn("rejected by proxy, but no part of it is rejected alone: proxies keep what they have until it "+
			"changes", "gateway", set.gateway.String(), "type", s.protocol.Types.Name(said.Type), "name", said.Name,
			"said", said.Message)
	}
	for _, r := range n.trials {
		s.cfg.Log.Info("rejected content found", "gateway", set.gateway.String(),
			"rejected", r.rejected, "of", r.suspects, "rounds", r.rounds, "in", r.duration)
	}
}

// logRefusals logs refusals: a line for each resource and what was said of it, however many it was made of.
func (s *Server) logRefusals(gateway model.ObjectRef, refused map[resource.RefusalKey]resource.Refusal) {
	origins := map[resource.Refusal][]string{}
	for k, said := range refused {
		name := k.Origin.Object.String()
		if k.Origin.Section != "" {
			name += "#" + k.Origin.Section
		}
		origins[said] = append(origins[said], name)
	}
	for said, names := range origins {
		slices.Sort(names)
		names = slices.Compact(names)
		count := len(names)
		s.cfg.Log.Warn("rejected by proxy", "gateway", gateway.String(),
			"type", s.protocol.Types.Name(said.Type), "name", said.Name,
			"said", said.Message, "count", count, "origins", names[:min(count, maxLoggedOrigins)])
	}
}

// maxLoggedOrigins is how many origins of a refused resource a line names.
const maxLoggedOrigins = 10

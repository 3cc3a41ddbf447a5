package simulate

import (
	"slices"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/request"
)

// applyMutations notes what a filter does to headers: of a request that is not answered yet, and of every answer, which
// passes the filters in reverse.
func (s *simulation) applyMutations(filter string, m *headermutationv3.Mutations, f *filterEffects) {
	s.noteUnknownFields(m, "request_mutations", "response_mutations")
	secret := filter == extendenvoy.SecretHeaders
	if f.answer == nil {
		for _, change := range m.GetRequestMutations() {
			f.requestEdits = append(f.requestEdits, s.mutationEdits(change, f.changeRequest(s.current), secret)...)
		}
	}
	var response []request.HeaderChange
	for _, change := range m.GetResponseMutations() {
		response = append(response, s.mutationEdits(change, f.changeRequest(s.current), secret)...)
	}
	f.responseEdits = append(response, f.responseEdits...)
}

// The slots around what compresses answers, and replaces them by pages.
const (
	codingSlot = "coding"
	errorsSlot = "errors"
)

// editsAnswersOnly tells whether a filter of these slots changes nothing but headers of answers, by what an answer
// turns out to be: which is not known before it comes.
func editsAnswersOnly(slot string, m *headermutationv3.Mutations) bool {
	return (slot == codingSlot || slot == errorsSlot) && len(m.GetRequestMutations()) == 0 &&
		slices.ContainsFunc(m.GetResponseMutations(), func(change *mutationv3.HeaderMutation) bool {
			return strings.Contains(change.GetAppend().GetHeader().GetValue(), "%RESP")
		})
}

// mutationEdits is one change; none if it adds nothing.
func (s *simulation) mutationEdits(
	m *mutationv3.HeaderMutation, of request.Request, secret bool,
) []request.HeaderChange {
	s.noteUnknownFields(m, "remove", "append")
	change := levelEdits{}
	if m.GetRemove() != "" {
		change.remove = []string{m.GetRemove()}
	}
	if option := m.GetAppend(); option != nil {
		if secret {
			return []request.HeaderChange{{
				Action: actionByAppend[option.GetAppendAction()], Name: option.GetHeader().GetKey(), Value: request.SecretValue,
			}}
		}
		change.add = append(change.add, option)
	}
	return s.resolveEdits([]levelEdits{change}, formatter{source: of})
}

// changeRequest is a request as the filters so far have changed it.
func (f *filterEffects) changeRequest(r request.Request) request.Request {
	r = r.Clone()
	for _, e := range f.requestEdits {
		e.ApplyTo(r.Header)
	}
	if r.Agent != nil {
		agent := *r.Agent
		agent.Server = f.toMCPServer
		r.Agent = &agent
	}
	return r
}

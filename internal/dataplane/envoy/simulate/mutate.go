package simulate

import (
	"slices"
	"strings"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	headermutationv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/request"
)

// mutate notes what a filter does to headers: of a request that is not answered yet, and of every answer, which passes
// the filters in reverse.
func (s *simulation) mutate(filter string, m *headermutationv3.Mutations, f *filtered) {
	s.survey(m, "request_mutations", "response_mutations")
	secret := filter == extend.SecretHeaders
	if f.answer == nil {
		for _, change := range m.GetRequestMutations() {
			f.request = append(f.request, s.mutation(change, f.changed(s.request), secret)...)
		}
	}
	var response []request.Edit
	for _, change := range m.GetResponseMutations() {
		response = append(response, s.mutation(change, f.changed(s.request), secret)...)
	}
	f.response = append(response, f.response...)
}

// The slots around what compresses answers, and replaces them by pages.
const (
	codingSlot = "coding"
	errorsSlot = "errors"
)

// bookkeeping tells whether a filter of these slots changes nothing but headers of answers, by what an answer turns out
// to be: which is not known before it comes.
func bookkeeping(slot string, m *headermutationv3.Mutations) bool {
	return (slot == codingSlot || slot == errorsSlot) && len(m.GetRequestMutations()) == 0 &&
		slices.ContainsFunc(m.GetResponseMutations(), func(change *mutationv3.HeaderMutation) bool {
			return strings.Contains(change.GetAppend().GetHeader().GetValue(), "%RESP")
		})
}

// mutation is one change; none if it adds nothing.
func (s *simulation) mutation(m *mutationv3.HeaderMutation, of request.Request, secret bool) []request.Edit {
	s.survey(m, "remove", "append")
	change := stated{}
	if m.GetRemove() != "" {
		change.remove = []string{m.GetRemove()}
	}
	if option := m.GetAppend(); option != nil {
		if secret {
			return []request.Edit{{
				Do: doOf[option.GetAppendAction()], Name: option.GetHeader().GetKey(), Value: request.SecretValue,
			}}
		}
		change.add = append(change.add, option)
	}
	return s.edits([]stated{change}, formats{request: of})
}

// changed is a request as the filters so far have changed it.
func (f *filtered) changed(r request.Request) request.Request {
	r = r.Clone()
	for _, e := range f.request {
		e.Apply(r.Header)
	}
	if r.Agent != nil {
		agent := *r.Agent
		agent.Server = f.server
		r.Agent = &agent
	}
	return r
}

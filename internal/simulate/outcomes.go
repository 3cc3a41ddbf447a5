package simulate

import "reflect"

// answer is the proxy's own.
func (s *simulation) answer(status int) { s.add(Outcome{Status: status}) }

// add adds an outcome of the share of requests that is on its way. It joins one that is the same.
func (s *simulation) add(o Outcome) {
	if o.Share == 0 {
		o.Share = 1
	}
	o.Share *= s.share
	for i, other := range s.result.Outcomes {
		share := other.Share
		if other.Share = o.Share; reflect.DeepEqual(other, o) {
			s.result.Outcomes[i].Share = share + o.Share
			return
		}
	}
	s.result.Outcomes = append(s.result.Outcomes, o)
}

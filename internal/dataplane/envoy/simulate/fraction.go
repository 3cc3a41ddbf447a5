package simulate

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
)

// portion is the requests that no route has taken yet. Envoy draws one number for a request, and compares it with the
// fraction of each route in turn: a route with a fraction takes what is below, so what remains is everything above the
// greatest fraction so far.
type portion struct {
	from float64 // up to 1
	of   typev3.FractionalPercent_DenominatorType
	cut  bool // a fraction was met, with the denominator of
}

func wholePortion() *portion { return &portion{} }

func (p *portion) size() float64 { return 1 - p.from }

func (p *portion) isEmpty() bool { return p.from >= 1 }

// takeShare gives a route its part: all, without a fraction. It is not known where denominators differ: the number is
// then not the same.
func (p *portion) takeShare(f *corev3.RuntimeFractionalPercent) (share float64, known bool) {
	upTo := 1.0
	if value := f.GetDefaultValue(); f != nil {
		if p.cut && p.of != value.GetDenominator() {
			return 0, false
		}
		p.cut, p.of = true, value.GetDenominator()
		upTo = min(float64(value.GetNumerator())/float64(denominatorOf(value)), 1)
	}
	share = max(upTo-p.from, 0)
	p.from = max(p.from, upTo)
	return share, true
}

func denominatorOf(f *typev3.FractionalPercent) uint32 {
	switch f.GetDenominator() {
	case typev3.FractionalPercent_TEN_THOUSAND:
		return 10_000
	case typev3.FractionalPercent_MILLION:
		return 1_000_000
	}
	return 100
}

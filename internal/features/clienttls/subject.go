package clienttls

import (
	"fmt"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"cardea.dev/cardea/extend"
)

// part is the one name that is stated; n is how many are.
func (n SubjectAltName) part() (kind tlsv3.SubjectAltNameMatcher_SanType, value string, stated int) {
	for _, one := range []struct {
		kind  tlsv3.SubjectAltNameMatcher_SanType
		value string
	}{
		{tlsv3.SubjectAltNameMatcher_URI, n.URI}, {tlsv3.SubjectAltNameMatcher_DNS, n.DNS},
		{tlsv3.SubjectAltNameMatcher_EMAIL, n.Email}, {tlsv3.SubjectAltNameMatcher_IP_ADDRESS, n.IP},
	} {
		if one.value != "" {
			kind, value, stated = one.kind, one.value, stated+1
		}
	}
	return kind, value, stated
}

// wrong tells what can't be compared; "": nothing.
func (n SubjectAltName) wrong() string {
	_, value, stated := n.part()
	if stated != 1 {
		return fmt.Sprintf("%d of uri, dns, email and ip are stated; state one", stated)
	}
	for _, problem := range (extend.StringMatch{Type: n.Type, Value: value}).Validate() {
		return problem.Message
	}
	return ""
}

func (n SubjectAltName) matcher() *tlsv3.SubjectAltNameMatcher {
	kind, value, _ := n.part()
	return &tlsv3.SubjectAltNameMatcher{
		SanType: kind, Matcher: extend.StringMatch{Type: n.Type, Value: value}.Envoy(),
	}
}

func matchers(names []SubjectAltName) (list []*tlsv3.SubjectAltNameMatcher) {
	for _, n := range names {
		list = append(list, n.matcher())
	}
	return list
}

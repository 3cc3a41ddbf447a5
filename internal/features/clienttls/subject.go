package clienttls

import (
	"fmt"

	"cardea.dev/cardea/extend"
)

// findProblem tells what can't be compared; "": nothing.
func (n SubjectAltName) findProblem() string {
	_, value, stated := n.statedName()
	if stated != 1 {
		return fmt.Sprintf("%d of uri, dns, email and ip are stated; state one", stated)
	}
	for _, problem := range (extend.StringMatch{Type: n.Type, Value: value}).Validate() {
		return problem.Message
	}
	return ""
}

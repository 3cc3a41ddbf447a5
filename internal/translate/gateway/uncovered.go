package gateway

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/resolve"
)

// uncovered warns of a listener that has no certificate for its hostname: clients refuse those that it has. It says
// nothing of a listener that takes every host, or that states a certificate which did not resolve.
func (in certificateReferences) uncovered(c *flow.Ctx, l model.Listener, stated int) []problem {
	if l.Hostname == "" || len(l.Certificates) == 0 || len(l.Certificates) < stated {
		return nil
	}
	var names []string
	for _, ref := range l.Certificates {
		found, _, _ := in.read(c, ref)
		if len(found.Names) == 0 {
			return nil // it was not read (Options.Unchecked), or a client has to know it by other means
		}
		names = append(names, found.Names...)
	}
	if slices.ContainsFunc(names, func(name string) bool { return resolve.Vouches(name, l.Hostname) }) {
		return nil
	}
	slices.Sort(names)
	return []problem{{severity: model.Warning, field: ".tls.certificateRefs", message: fmt.Sprintf(
		"no certificate is for %s, so clients refuse it (names here: %s); add the hostname to a certificate's subjectAltName",
		l.Hostname, listed(slices.Compact(names)))}}
}

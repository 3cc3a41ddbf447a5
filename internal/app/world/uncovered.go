package world

import (
	"fmt"
	"slices"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/translate/resolve"
)

// uncoveredCertificates warns of listeners with certificates that are good for none of the hosts of their routes:
// clients refuse them. Nothing is known of a route for every host, nor of a listener with a certificate that can't be
// used.
func (w *World) uncoveredCertificates(v flow.View) (list []model.Finding) {
	hosts := map[model.ListenerKey][]string{}
	for _, route := range flow.All(v, w.Plan.Routes) {
		for _, place := range route.Listeners {
			for _, domain := range place.Domains {
				hosts[place.Listener] = append(hosts[place.Listener], domain.Name)
			}
		}
	}
	for key, of := range hosts {
		l, _ := flow.Get(v, w.Plan.Listeners, key)
		if len(l.Certificates) == 0 || slices.Contains(of, model.EveryHost) {
			continue
		}
		names := w.certificateNames(v, l)
		if len(names) == 0 || slices.ContainsFunc(of, func(host string) bool { return matchesAnyName(names, host) }) {
			continue
		}
		slices.Sort(of)
		list = append(list, model.Finding{
			Object: key.Parent, Section: key.Section, Severity: model.Warning,
			Field: w.certificateField(v, key, l.Certificates[0]),
			Message: fmt.Sprintf("no certificate here covers a host of its routes (%s), so clients reject the certificates "+
				"(names: %s); add the hosts to a certificate's subjectAltName",
				model.JoinSome(slices.Compact(of)), model.JoinSome(names)),
		})
	}
	return list
}

// certificateNames are the names in a listener's certificates, sorted, each once; none if those of one are not known,
// or if none is for a host that the listener takes, which its status tells.
func (w *World) certificateNames(v flow.View, l model.Listener) (names []string) {
	for _, ref := range l.Certificates {
		own, _ := flow.Get(v, w.Plan.Materials, model.CertificateKey(ref))
		found, _, _ := resolve.ReadLeaf(own.Text)
		if len(found) == 0 {
			return nil
		}
		names = append(names, found...)
	}
	if l.Hostname != "" && !matchesAnyName(names, l.Hostname) {
		return nil
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func matchesAnyName(names []string, host string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return resolve.NameCovers(name, host) })
}

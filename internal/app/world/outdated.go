package world

import (
	"fmt"
	"time"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// describeValidity says what is wrong with a certificate at a time; "" if nothing is.
func describeValidity(m model.Material, now time.Time) string {
	switch {
	case !m.Until.IsZero() && now.After(m.Until):
		return fmt.Sprintf("expired at %s (NotAfter): clients refuse it; put a new one into the Secret",
			m.Until.UTC().Format(time.RFC3339))
	case now.Before(m.From):
		return fmt.Sprintf("is not valid before %s (NotBefore): until then clients refuse it; put one that is valid now "+
			"into the Secret, or set this machine's clock right", m.From.UTC().Format(time.RFC3339))
	case !m.Until.IsZero() && m.Until.Sub(now) < expiryNotice(m.Until.Sub(m.From)):
		return fmt.Sprintf("expires at %s (NotAfter), in %s: put a new one into the Secret before",
			m.Until.UTC().Format(time.RFC3339), formatRemaining(m.Until.Sub(now)))
	}
	return ""
}

const day = 24 * time.Hour

// expiryNotice is how long before its end a certificate is reported: 21 days, or the last third of its life if it is
// good for less than 63 days: something renews such certificates all the time.
func expiryNotice(life time.Duration) time.Duration { return min(21*day, life/3) }

// formatRemaining is a time in whole days, or in hours where it is less than two.
func formatRemaining(d time.Duration) string {
	if d < 2*day {
		return fmt.Sprintf("%d hours", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/day)
}

// FindingsAt are Findings, and what they leave out: listeners that show a certificate which is not valid at that time,
// or not for much longer, or is for no host of their routes. They serve it all the same.
func (w *World) FindingsAt(now time.Time) []model.Finding {
	return append(w.Findings(), w.certificateFindings(now)...)
}

// certificateFindings looks at the certificates of all listeners.
func (w *World) certificateFindings(now time.Time) (list []model.Finding) {
	w.Graph.View(func(v flow.View) {
		list = w.uncoveredCertificates(v)
		wrong := map[model.ObjectRef]string{}
		for key, own := range flow.All(v, w.Plan.Materials) {
			if says := describeValidity(own.Material, now); key.Object.Kind() == model.KindSecret && says != "" {
				wrong[key.Object] = says
			}
		}
		if len(wrong) == 0 {
			return
		}
		for key, l := range flow.All(v, w.Plan.Listeners) {
			for _, ref := range l.Certificates {
				if says := wrong[ref]; says != "" {
					list = append(list, model.Finding{
						Object: key.Parent, Section: key.Section, Severity: model.Warning, Field: w.certificateField(v, key, ref),
						Message: fmt.Sprintf("the certificate of %s %s", ref, says),
					})
				}
			}
		}
	})
	return sortFindings(list)
}

// certificateField is where a listener names a Secret, in its Gateway or ListenerSet.
func (w *World) certificateField(v flow.View, l model.ListenerKey, secret model.ObjectRef) string {
	for i, own := range w.Sources.ListenersOf(v, l.Parent) {
		if string(own.Name) != l.Section || own.TLS == nil {
			continue
		}
		for j, c := range own.TLS.CertificateRefs {
			namespace := l.Parent.Namespace()
			if c.Namespace != nil {
				namespace = string(*c.Namespace)
			}
			if model.Ref(model.KindSecret, namespace, string(c.Name)) == secret {
				return fmt.Sprintf("spec.listeners[%d].tls.certificateRefs[%d]", i, j)
			}
		}
	}
	return ""
}

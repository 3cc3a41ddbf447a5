package world

import (
	"fmt"
	"time"

	"cardea.dev/cardea/internal/flow"
	"cardea.dev/cardea/internal/model"
)

// outside says what is wrong with a certificate at a time; "" if nothing is.
func outside(m model.Material, now time.Time) string {
	switch {
	case !m.Until.IsZero() && now.After(m.Until):
		return fmt.Sprintf("expired at %s (NotAfter): clients refuse it; put a new one into the Secret",
			m.Until.UTC().Format(time.RFC3339))
	case now.Before(m.From):
		return fmt.Sprintf("is not valid before %s (NotBefore): until then clients refuse it; put one that is valid now "+
			"into the Secret, or set this machine's clock right", m.From.UTC().Format(time.RFC3339))
	}
	return ""
}

// FindingsAt are Findings, and what is wrong at that time only: listeners that show a certificate which is not valid.
// They serve it all the same.
func (w *World) FindingsAt(now time.Time) []model.Finding {
	return append(w.Findings(), w.outdated(now)...)
}

func (w *World) outdated(now time.Time) (list []model.Finding) {
	w.Graph.View(func(v flow.View) {
		wrong := map[model.ObjectRef]string{}
		for key, own := range flow.All(v, w.Plan.Materials) {
			if says := outside(own.Material, now); key.Object.Kind() == model.KindSecret && says != "" {
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
						Object: l.Gateway, Section: key.Section, Severity: model.Warning, Field: w.certificateField(v, key, ref),
						Message: fmt.Sprintf("the certificate of %s %s", ref, says),
					})
				}
			}
		}
	})
	return sorted(list)
}

// certificateField is where a Gateway names a Secret for a listener.
func (w *World) certificateField(v flow.View, l model.ListenerKey, secret model.ObjectRef) string {
	o, _ := flow.Get(v, w.Sources.Gateways.Collection(), l.Parent)
	for i := 0; o.Spec != nil && i < len(o.Spec.Listeners); i++ {
		if string(o.Spec.Listeners[i].Name) != l.Section || o.Spec.Listeners[i].TLS == nil {
			continue
		}
		for j, c := range o.Spec.Listeners[i].TLS.CertificateRefs {
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

package conditions

import (
	"fmt"
	"time"
)

// TooLarge is the reason of Programmed=False if the configuration is too large to be written to files. The files stay
// as they were.
const TooLarge = "TooLarge"

// smaller is what to do about it.
const smaller = " (use fewer HTTPS listeners and certificates, or the data plane Envoy)"

// written is the Gateway's Programmed condition as far as it is known of proxies that read files: they acknowledge
// nothing.
func (g GatewayFacts) written(programmed, valid int) (reason, message string) {
	w := g.Written
	switch {
	case w.TooLarge != "" && w.At.IsZero():
		return TooLarge, "nothing is written: " + w.TooLarge + smaller
	case w.TooLarge != "":
		return TooLarge, fmt.Sprintf("%s%s; %s keeps what was written at %s", w.TooLarge, smaller, w.Where,
			stamp(w.At))
	case w.At.IsZero():
		return "Pending", "the files of its proxies are not written yet"
	case programmed < valid:
		return "Pending", fmt.Sprintf("%d of %d listeners are written to %s", programmed, valid, w.Where)
	case g.Fronted && !g.Answered:
		return "Pending", fmt.Sprintf("written to %s at %s; none of its proxies is ready yet", w.Where, stamp(w.At))
	default:
		return "Programmed", fmt.Sprintf(
			"written to %s at %s; its proxies (%s) read it by themselves, and acknowledge nothing",
			w.Where, stamp(w.At), g.DataPlane)
	}
}

// listenerWritten is the same of one listener.
func (g GatewayFacts) listenerWritten(l Listener) (reason, message string) {
	switch {
	case g.programmed(l):
		return "Programmed", fmt.Sprintf("written to the files of its proxies (%s), which acknowledge nothing", g.DataPlane)
	case g.Written.TooLarge != "":
		return TooLarge, "not written: " + g.Written.TooLarge
	default:
		return "Pending", "not written to the files of its proxies yet"
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// written sets a route's Programmed condition at a Gateway with proxies that read files; waiting is how many of its
// rules are not written yet.
func (p Parent) written(l *list, waiting int) {
	switch {
	case waiting > 0 && p.TooLarge:
		l.set(Programmed, false, TooLarge, fmt.Sprintf(
			"%s of %d not written: the Gateway's configuration is too large, see its condition Programmed%s",
			count(waiting, "rule", "rules"), len(p.Standing), p.elsewhere()))
	case waiting > 0:
		l.set(Programmed, false, "Pending", fmt.Sprintf("%s of %d not written to the files of the proxies yet%s",
			count(waiting, "rule", "rules"), len(p.Standing), p.elsewhere()))
	default:
		l.set(Programmed, true, "Programmed", fmt.Sprintf(
			"written to the files of the proxies (%s), which acknowledge nothing%s", p.DataPlane, p.elsewhere()))
	}
}

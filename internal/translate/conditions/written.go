package conditions

import (
	"fmt"
	"time"
)

// TooLarge is the reason of Programmed=False if the configuration is too large to be written to files. The files stay
// as they were.
const TooLarge = "TooLarge"

// shrinkHint is what to do about it.
const shrinkHint = " (use fewer HTTPS listeners and certificates, or a data plane that reads no files)"

// writtenReason is the GatewayStatus's Programmed condition as far as it is known of proxies that read files: they
// acknowledge nothing.
func (g GatewayFacts) writtenReason(programmed, valid int) (reason, message string) {
	w := g.Written
	switch {
	case w.TooLarge != "" && w.At.IsZero():
		return TooLarge, "nothing is written: " + w.TooLarge + shrinkHint
	case w.TooLarge != "":
		return TooLarge, fmt.Sprintf("%s%s; %s keeps the content that was written at %s", w.TooLarge, shrinkHint, w.Where,
			formatTime(w.At))
	case w.At.IsZero():
		return "Pending", "the files of its proxies are not written yet"
	case programmed < valid:
		return "Pending", fmt.Sprintf("%d of %d listeners are written to %s", programmed, valid, w.Where)
	case g.Fronted && !g.Answered:
		return "Pending", fmt.Sprintf("written to %s at %s; none of its proxies is ready yet", w.Where, formatTime(w.At))
	default:
		return "Programmed", fmt.Sprintf(
			"written to %s at %s; its proxies (%s) read it by themselves, and acknowledge nothing",
			w.Where, formatTime(w.At), g.DataPlane)
	}
}

// listenerWrittenReason is the same of one listener.
func (g GatewayFacts) listenerWrittenReason(l ListenerFacts) (reason, message string) {
	switch {
	case g.isProgrammed(l):
		return "Programmed", fmt.Sprintf("written to the files of its proxies (%s), which acknowledge nothing", g.DataPlane)
	case g.Written.TooLarge != "":
		return TooLarge, "not written: " + g.Written.TooLarge
	default:
		return "Pending", "not written to the files of its proxies yet"
	}
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// setWritten sets a route's Programmed condition at a GatewayStatus with proxies that read files; waiting is how many
// of its rules are not written yet.
func (p RouteParent) setWritten(l *conditionList, waiting int) {
	switch {
	case waiting > 0 && p.TooLarge:
		l.setCondition(Programmed, false, TooLarge, fmt.Sprintf(
			"%s of %d not written: the Gateway's configuration is too large, see its condition Programmed%s",
			pluralize(waiting, "rule", "rules"), len(p.AckStates), p.refusedSuffix()))
	case waiting > 0:
		l.setCondition(Programmed, false, "Pending", fmt.Sprintf("%s of %d not written to the files of the proxies yet%s",
			pluralize(waiting, "rule", "rules"), len(p.AckStates), p.refusedSuffix()))
	default:
		l.setCondition(Programmed, true, "Programmed", fmt.Sprintf(
			"written to the files of the proxies (%s), which acknowledge nothing%s", p.DataPlane, p.refusedSuffix()))
	}
}

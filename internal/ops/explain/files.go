package explain

import (
	"slices"
	"time"
)

// describeFiles tells how far something got that proxies read from files by themselves.
func (f Files) describeFiles(l LiveState, now time.Time) string {
	switch {
	case l.Acknowledged && l.Since == nil:
		return "written before the oldest edit that is remembered, to " + f.Where + unacknowledged
	case l.Acknowledged:
		return "written " + formatTime(*l.Since, now) + " to " + f.Where + unacknowledged
	case f.TooLarge != "" && f.Written == nil:
		return "no: nothing can be written: " + f.TooLarge
	case f.TooLarge != "":
		return "no: it can't be written: " + f.TooLarge + "; " + f.Where + " keeps what was written " +
			formatTime(*f.Written, now)
	}
	return "not yet: it is not written to the proxies' files"
}

const unacknowledged = "; the proxies read it by themselves, and acknowledge nothing"

// lastStage is the last stage of an edit, as far as it is known of all proxies.
func (o Object) lastStage() string {
	if slices.ContainsFunc(o.Made, func(m RenderedPart) bool { return m.Live.Files != nil }) {
		return "written"
	}
	return "live"
}

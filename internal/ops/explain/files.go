package explain

import (
	"slices"
	"time"
)

// text tells how far something got that proxies read from files by themselves.
func (f Files) text(l Live, now time.Time) string {
	switch {
	case l.Acknowledged && l.Since == nil:
		return "written longer ago than is remembered, to " + f.Where + unacknowledged
	case l.Acknowledged:
		return "written " + when(*l.Since, now) + " to " + f.Where + unacknowledged
	case f.TooLarge != "" && f.Written == nil:
		return "no: nothing can be written: " + f.TooLarge
	case f.TooLarge != "":
		return "no: it can't be written: " + f.TooLarge + "; " + f.Where + " keeps what was written " +
			when(*f.Written, now)
	}
	return "not yet: it is not written to the proxies' files"
}

const unacknowledged = "; the proxies read it by themselves, and acknowledge nothing"

// reached is the last stage of an edit, as far as it is known of all proxies.
func (o Object) reached() string {
	if slices.ContainsFunc(o.Made, func(m Made) bool { return m.Live.Files != nil }) {
		return "written"
	}
	return "live"
}

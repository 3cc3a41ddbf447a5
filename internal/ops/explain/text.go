package explain

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// page is text under headings.
type page struct{ strings.Builder }

// addLine writes a line; a heading "" goes on with the one before.
func (p *page) addLine(heading, format string, args ...any) {
	fmt.Fprintf(p, "  %-10s %s\n", heading, fmt.Sprintf(format, args...))
}

// Print writes the story for people. Ages are counted up to now.
func (s Story) Print(w io.Writer, now time.Time) error {
	var p page
	p.WriteString(s.Request + "\n")
	if s.Gateway != "" {
		listener := "none for this host"
		if s.Connection != "" {
			listener = "none for it"
		}
		if s.Listener != "" {
			listener = s.Listener
		}
		p.addLine("gateway", "%s, listener %s, port %d (bound at %s)", s.Gateway, listener, s.Port, s.Bound)
		if s.DataPlane != "" {
			p.addLine("", "its data plane is %s", s.DataPlane)
		}
	}
	if s.Mismatch != "" {
		p.addLine("protocol", "%s", s.Mismatch)
	}
	switch {
	case s.Closed != "" && s.Connection == schemeUDP:
		p.addLine("closed", "datagrams are dropped: %s", s.Closed)
	case s.Closed != "":
		p.addLine("closed", "the connection ends without an answer: %s", s.Closed)
	case s.Refused != "":
		p.addLine("refused", "before a route is selected: %s", s.Refused)
	case s.Mismatch != "", s.Host == "*" && s.Connection != "": // the rule tells which connections it takes
	case s.Host == "*":
		p.addLine("host", "every host")
	case s.Host != "":
		p.addLine("host", "%s", s.Host)
	case s.Gateway != "" && !s.Undecided:
		p.addLine("host", "no route has this host")
	}
	for _, r := range s.Rules {
		p.printRule(r)
	}
	if len(s.Rules) == 0 && s.Closed == "" && s.Mismatch == "" && s.Host != "" && !s.Undecided {
		p.addLine("rule", "none matches it")
	}
	p.printDecisions(s.Decisions)
	for i, o := range s.Outcomes {
		heading := ""
		switch {
		case i == 0 && s.Connection != "":
			heading = "goes to"
		case i == 0:
			heading = "answer"
		}
		p.printOutcome(o, heading, len(s.Outcomes))
	}
	for _, r := range s.Rules {
		p.printPolicies(r.Policies, joinNonEmpty(r.Object, "at Gateway "+s.Gateway))
	}
	for i, o := range s.Outcomes {
		if !slices.ContainsFunc(s.Outcomes[:i], func(before Outcome) bool { return before.Backend == o.Backend }) {
			p.printPolicies(o.Policies, joinNonEmpty(o.Backend, "at Gateway "+s.Gateway))
		}
	}
	for _, r := range s.Rules {
		p.printLive(r, s, now)
	}
	for _, name := range s.NotSimulated {
		p.addLine("", "not simulated: %s", name)
	}
	if s.Undecided {
		p.addLine("", "because of that, the result is not known")
	}
	p.printPanics(s.Panics)
	for _, n := range s.Notes {
		p.addLine("note", "%s", n)
	}
	if len(s.Near) > 0 {
		p.WriteString("why not\n")
	}
	for _, n := range s.Near {
		p.printNear(n)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// printNear prints why a rule did not take it.
func (p *page) printNear(n NearMiss) {
	about := joinNonEmpty(n.Match, n.Where)
	if about != "" {
		about = " (" + about + ")"
	}
	fmt.Fprintf(p, "  %s%s: %s\n", n.Object, about, n.Why)
}

// printPanics tells of bugs of our own.
func (p *page) printPanics(list []string) {
	for _, text := range list {
		p.addLine("bug", "Cardea's own, please report it: %s; what was made before stays", text)
	}
}

// joinNonEmpty joins what is there.
func joinNonEmpty(words ...string) string {
	var list []string
	for _, w := range words {
		if w != "" {
			list = append(list, w)
		}
	}
	return strings.Join(list, ", ")
}

func (p *page) printRule(r Rule) {
	p.addLine("rule", "%s", joinNonEmpty(r.Object, r.Where))
	p.addLine("", "it takes %s", r.Match)
	for _, f := range r.Findings {
		p.addLine("finding", "%s", f)
	}
}

func (p *page) printOutcome(o Outcome, heading string, of int) {
	share := ""
	if of > 1 {
		share = fmt.Sprintf("%.3g%% ", o.Percent)
	}
	switch {
	case o.Closed != "":
		p.addLine(heading, "%s%s: %s", share, o.Backend, o.Closed)
	case o.Location != "":
		p.addLine(heading, "%s%s, to %s", share, o.Answer, o.Location)
	case o.Status != 0 && o.Backend != "" && len(o.Endpoints) == 0:
		p.addLine(heading, "%s%s, by the proxy: %s, no endpoint", share, o.Answer, o.Backend)
	case o.Status != 0:
		p.addLine(heading, "%s%s, by the proxy", share, o.Answer)
	default:
		p.addLine(heading, "%s%s, endpoints that can get it: %s", share, o.Backend, strings.Join(o.Endpoints, " "))
	}
	if o.Why != "" {
		p.addLine("", "by %s", o.Why)
	}
	if c := o.Connections; c != nil && c.Failed == c.Tried {
		p.addLine("", "connections to it fail: all %d that the proxy tried so far", c.Tried)
	} else if c != nil {
		p.addLine("", "%d of %d connections to it have failed so far", c.Failed, c.Tried)
	}
	for _, f := range o.Filters {
		p.addLine("", "%s", f)
	}
	if o.Pick != nil {
		p.printPick(*o.Pick)
	}
}

func (p *page) printLive(r Rule, s Story, now time.Time) {
	switch {
	case s.Offline:
		p.addLine("live", "nowhere: these are files")
	case s.Unasked:
		p.addLine("live", "not known: the proxies of the cluster were not asked; the status of %s tells", r.Object)
	default:
		p.addLine("live", "%s", r.Live.describeLive(now))
	}
	if r.Edit != nil {
		p.addLine("edit", "%s", r.Edit.describeEdit(now))
	}
	if r.LastEdit != nil {
		p.addLine("edit", "%s; which edit made this rule is not known", r.LastEdit.describeLast(now))
	}
}

func (l LiveState) describeLive(now time.Time) string {
	switch {
	case l.Refused != "":
		return "no: the proxy rejected it: " + l.Refused + l.keptSuffix()
	case l.Files != nil:
		return l.Files.describeFiles(l, now)
	case l.Proxies == 0:
		return "no: no proxy is connected"
	case l.Kept && !l.Acknowledged:
		if have := l.proxyNames(true); have != "" {
			return "as it is now at " + have + " only; the other proxies keep what they accepted before"
		}
		return "an older version; the newest one waits for an acknowledgement" + l.keptSuffix()
	case !l.Acknowledged:
		if late := l.proxyNames(false); late != "" {
			return "not yet: it waits for " + late
		}
		return "not yet: it waits for an acknowledgement"
	default:
		since := "since before the oldest edit that is remembered"
		if l.Since != nil {
			since = "since " + formatTime(*l.Since, now)
		}
		return since + ", acknowledged" + l.describeAcknowledgers() + l.keptSuffix()
	}
}

// describeAcknowledgers names the proxies that acknowledged something. One that has not all of the route table may have
// that, if it was there before.
func (l LiveState) describeAcknowledgers() string {
	named, late := l.proxyNames(true), l.proxyNames(false)
	if late != "" {
		late = "; not yet all of the route table by " + late
	}
	switch {
	case l.Proxies == 1:
		return fmt.Sprintf(" by the proxy (%s %s)", l.Proxy, l.Version)
	case named == "" && late == "":
		return fmt.Sprintf(" by all %d proxies (%s %s)", l.Proxies, l.Proxy, l.Version)
	case named == "":
		return late
	case late == "":
		return fmt.Sprintf(" by all %d proxies: %s", l.Proxies, named)
	}
	return " by " + named + late
}

func (e Edit) describeEdit(now time.Time) string {
	words := []string{}
	if e.By != "" {
		words = append(words, "by "+e.By)
	}
	if e.Where != "" {
		words = append(words, "of "+e.Where)
	}
	if e.At != nil {
		words = append(words, "at "+formatTime(*e.At, now))
	}
	return strings.Join(words, " ") + e.describeChange()
}

// describeChange names the change of the ledger, with its message; "" if there is none.
func (e Edit) describeChange() string {
	switch {
	case e.Change == 0:
		return ""
	case e.Message == "":
		return fmt.Sprintf(", change %d", e.Change)
	}
	return fmt.Sprintf(", change %d: %s", e.Change, strconv.Quote(e.Message))
}

// describeLast tells an edit as the last one of its document in a file or, in a cluster, of its object.
func (e Edit) describeLast(now time.Time) string {
	text := "object last edited"
	if e.Where != "" {
		text = "document last edited"
	}
	if e.At != nil {
		text += " at " + formatTime(*e.At, now)
	}
	if e.Latest {
		text += " or before"
	}
	if e.By != "" {
		text += " by " + e.By
	}
	if e.Where != "" {
		text += ": " + e.Where
	}
	return text + e.describeChange()
}

// formatTime is a time and how long ago it was.
func formatTime(t, now time.Time) string {
	return fmt.Sprintf("%s (%s ago)", t.Format("2006-01-02 15:04:05Z"), now.Sub(t).Round(time.Second))
}

// Print writes the story of an object for people.
func (o Object) Print(w io.Writer, now time.Time) error {
	var p page
	p.WriteString(joinNonEmpty(o.Object, o.Where) + "\n")
	if o.Edit != nil {
		p.addLine("edit", "%s", o.Edit.describeEdit(now))
	}
	if s := o.Stages; s.Read != nil {
		p.addLine("read", "%s, in a turn of %s", formatTime(*s.Read, now), s.Turn.Round(10*time.Microsecond))
		before := *s.Read
		if s.Sent != nil {
			p.addLine("sent", "%s, %s later", formatTime(*s.Sent, now), s.Sent.Sub(before))
			before = *s.Sent
		}
		if s.Acknowledged != nil {
			took := "with that turn or before"
			if d := s.Acknowledged.Sub(before); d > 0 {
				took = d.Round(time.Millisecond).String() + " later"
			}
			p.addLine(o.lastStage(), "%s, %s", formatTime(*s.Acknowledged, now), took)
		}
	}
	for i, b := range o.Before {
		heading := ""
		if i == 0 {
			heading = "before"
		}
		p.addLine(heading, "%s", b.describePast(now))
	}
	p.printPanics(o.Panics)
	for _, f := range o.Findings {
		p.addLine("finding", "%s", f)
	}
	p.printReach(o.Fields)
	heading := "looks at"
	for _, d := range o.DependsOn {
		which := ""
		switch {
		case d.Absent:
			which = ", which is not there"
		case d.Wrong:
			which = ", which has errors: explain it, too"
		}
		p.addLine(heading, "%s%s", d.Object, which)
		heading = ""
	}
	heading = "became"
	for _, m := range o.Made {
		text := fmt.Sprintf("%s %s", m.Type, m.Name)
		if m.Part != "" {
			text += ", in " + m.Part
		}
		if m.Of != "" {
			text += ", of " + m.Of
		}
		if m.Field != "" {
			text += " (" + joinNonEmpty(m.Field, m.Where) + ")"
		}
		live := ""
		if !o.Offline && !o.Unasked {
			live = ": " + m.Live.describeShort()
		}
		p.addLine(heading, "%s: %s%s", m.Gateway, text, live)
		heading = ""
	}
	if len(o.Made) == 0 {
		p.addLine("became", "no resource of a proxy")
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// describePast is an edit and the time that each stage took, in a line.
func (b PastEdit) describePast(now time.Time) string {
	text := "an edit"
	if b.Edit != nil {
		text += " " + b.Edit.describeEdit(now)
	}
	s := b.Stages
	text += fmt.Sprintf(", read in a turn of %s", s.Turn.Round(10*time.Microsecond))
	if s.Sent == nil || s.Acknowledged == nil {
		return text
	}
	return text + fmt.Sprintf(", sent %s later, live %s later", s.Sent.Sub(*s.Read), s.Acknowledged.Sub(*s.Sent))
}

func (l LiveState) describeShort() string {
	switch {
	case l.Refused != "":
		return "refused: " + l.Refused + l.keptSuffix()
	case l.Files != nil && l.Acknowledged:
		return "written"
	case l.Files != nil:
		return "not written"
	case l.Acknowledged:
		return "acknowledged"
	}
	return "not acknowledged" + l.keptSuffix()
}

// keptText is of what is not served as it is now.
const keptText = "; proxies keep what they accepted before"

func (l LiveState) keptSuffix() string {
	if l.Kept {
		return keptText
	}
	return ""
}

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

// line writes a line; a heading "" goes on with the one before.
func (p *page) line(heading, format string, args ...any) {
	fmt.Fprintf(p, "  %-10s %s\n", heading, fmt.Sprintf(format, args...))
}

// Print writes the story for people. Ages are counted up to now.
func (s Story) Print(w io.Writer, now time.Time) error {
	var p page
	p.WriteString(s.Request + "\n")
	if s.Gateway != "" {
		listener := "none for this host"
		if s.Listener != "" {
			listener = s.Listener
		}
		p.line("gateway", "%s, listener %s, port %d (bound at %s)", s.Gateway, listener, s.Port, s.Bound)
		if s.DataPlane != "" {
			p.line("", "its data plane is %s", s.DataPlane)
		}
	}
	switch {
	case s.Closed != "":
		p.line("closed", "the connection ends without an answer: %s", s.Closed)
	case s.Refused != "":
		p.line("refused", "before a route is looked for: %s", s.Refused)
	case s.Host == "*":
		p.line("host", "every host")
	case s.Host != "":
		p.line("host", "%s", s.Host)
	case s.Gateway != "" && !s.Undecided:
		p.line("host", "no route has this host")
	}
	for _, r := range s.Rules {
		p.rule(r)
	}
	if len(s.Rules) == 0 && s.Closed == "" && s.Host != "" && !s.Undecided {
		p.line("rule", "none takes it")
	}
	p.decisions(s.Decisions)
	for i, o := range s.Outcomes {
		p.outcome(o, i == 0, len(s.Outcomes))
	}
	for _, r := range s.Rules {
		p.policies(r.Policies, told(r.Object, "at Gateway "+s.Gateway))
	}
	for i, o := range s.Outcomes {
		if !slices.ContainsFunc(s.Outcomes[:i], func(before Outcome) bool { return before.Backend == o.Backend }) {
			p.policies(o.Policies, told(o.Backend, "at Gateway "+s.Gateway))
		}
	}
	for _, r := range s.Rules {
		p.live(r, s, now)
	}
	for _, name := range s.NotSimulated {
		p.line("", "not simulated: %s", name)
	}
	if s.Undecided {
		p.line("", "because of that, what happens can't be told")
	}
	p.panics(s.Panics)
	for _, n := range s.Notes {
		p.line("note", "%s", n)
	}
	if len(s.Near) > 0 {
		p.WriteString("why not\n")
	}
	for _, n := range s.Near {
		fmt.Fprintf(&p, "  %s (%s): %s\n", n.Object, told(n.Match, n.Where), n.Why)
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// panics tells of bugs of our own.
func (p *page) panics(list []string) {
	for _, text := range list {
		p.line("bug", "Cardea's own, please report it: %s; what was made before stays", text)
	}
}

// told joins what is there.
func told(words ...string) string {
	var list []string
	for _, w := range words {
		if w != "" {
			list = append(list, w)
		}
	}
	return strings.Join(list, ", ")
}

func (p *page) rule(r Rule) {
	p.line("rule", "%s", told(r.Object, r.Where))
	p.line("", "it takes %s", r.Match)
	for _, f := range r.Findings {
		p.line("finding", "%s", f)
	}
}

func (p *page) outcome(o Outcome, first bool, of int) {
	share := ""
	if of > 1 {
		share = fmt.Sprintf("%.3g%% ", o.Percent)
	}
	heading := ""
	if first {
		heading = "answer"
	}
	switch {
	case o.Location != "":
		p.line(heading, "%s%s, to %s", share, o.Answer, o.Location)
	case o.Status != 0 && o.Backend != "" && len(o.Endpoints) == 0:
		p.line(heading, "%s%s, by the proxy: %s, no endpoint", share, o.Answer, o.Backend)
	case o.Status != 0:
		p.line(heading, "%s%s, by the proxy", share, o.Answer)
	default:
		p.line(heading, "%s%s, endpoints that can get it: %s", share, o.Backend, strings.Join(o.Endpoints, " "))
	}
	if o.Why != "" {
		p.line("", "by %s", o.Why)
	}
	if c := o.Connections; c != nil && c.Failed == c.Tried {
		p.line("", "connections to it fail: all %d that the proxy tried so far", c.Tried)
	} else if c != nil {
		p.line("", "%d of %d connections to it have failed so far", c.Failed, c.Tried)
	}
	for _, f := range o.Filters {
		p.line("", "%s", f)
	}
	if o.Pick != nil {
		p.pick(*o.Pick)
	}
}

func (p *page) live(r Rule, s Story, now time.Time) {
	switch {
	case s.Offline:
		p.line("live", "nowhere: these are files")
	case s.Unasked:
		p.line("live", "not known: the proxies of the cluster were not asked; the status of %s tells", r.Object)
	default:
		p.line("live", "%s", r.Live.text(now))
	}
	if r.Edit != nil {
		p.line("edit", "%s", r.Edit.text(now))
	}
	if r.LastEdit != nil {
		p.line("edit", "%s; which edit made this rule is not known", r.LastEdit.last(now))
	}
}

func (l Live) text(now time.Time) string {
	switch {
	case l.Refused != "":
		return "no: the proxy refused it: " + l.Refused + l.kept()
	case l.Files != nil:
		return l.Files.text(l, now)
	case l.Proxies == 0:
		return "no: no proxy is connected"
	case l.Kept && !l.Acknowledged:
		if have := l.names(true); have != "" {
			return "as it is now at " + have + " only; the other proxies keep what they accepted before"
		}
		return "not as it is now, which waits for an acknowledgement" + l.kept()
	case !l.Acknowledged:
		if late := l.names(false); late != "" {
			return "not yet: it waits for " + late
		}
		return "not yet: it waits for an acknowledgement"
	default:
		since := "longer than is remembered"
		if l.Since != nil {
			since = "since " + when(*l.Since, now)
		}
		return since + ", acknowledged" + l.by() + l.kept()
	}
}

// by names the proxies that acknowledged something. One that has not all of the route table may have that, if it was
// there before.
func (l Live) by() string {
	named, late := l.names(true), l.names(false)
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

func (e Edit) text(now time.Time) string {
	words := []string{}
	if e.By != "" {
		words = append(words, "by "+e.By)
	}
	if e.Where != "" {
		words = append(words, "of "+e.Where)
	}
	if e.At != nil {
		words = append(words, "at "+when(*e.At, now))
	}
	return strings.Join(words, " ") + e.change()
}

// change names the change of the ledger, with its message; "" if there is none.
func (e Edit) change() string {
	switch {
	case e.Change == 0:
		return ""
	case e.Message == "":
		return fmt.Sprintf(", change %d", e.Change)
	}
	return fmt.Sprintf(", change %d: %s", e.Change, strconv.Quote(e.Message))
}

// last tells an edit as the last one of its document in a file or, in a cluster, of its object.
func (e Edit) last(now time.Time) string {
	text := "object last edited"
	if e.Where != "" {
		text = "document last edited"
	}
	if e.At != nil {
		text += " at " + when(*e.At, now)
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
	return text + e.change()
}

// when is a time and how long ago it was.
func when(t, now time.Time) string {
	return fmt.Sprintf("%s (%s ago)", t.Format("2006-01-02 15:04:05Z"), now.Sub(t).Round(time.Second))
}

// Print writes the story of an object for people.
func (o Object) Print(w io.Writer, now time.Time) error {
	var p page
	p.WriteString(told(o.Object, o.Where) + "\n")
	if o.Edit != nil {
		p.line("edit", "%s", o.Edit.text(now))
	}
	if s := o.Stages; s.Read != nil {
		p.line("read", "%s, in a turn of %s", when(*s.Read, now), s.Turn.Round(10*time.Microsecond))
		before := *s.Read
		if s.Sent != nil {
			p.line("sent", "%s, %s later", when(*s.Sent, now), s.Sent.Sub(before))
			before = *s.Sent
		}
		if s.Acknowledged != nil {
			took := "with that turn or before"
			if d := s.Acknowledged.Sub(before); d > 0 {
				took = d.Round(time.Millisecond).String() + " later"
			}
			p.line(o.reached(), "%s, %s", when(*s.Acknowledged, now), took)
		}
	}
	for i, b := range o.Before {
		heading := ""
		if i == 0 {
			heading = "before"
		}
		p.line(heading, "%s", b.text(now))
	}
	p.panics(o.Panics)
	for _, f := range o.Findings {
		p.line("finding", "%s", f)
	}
	p.reached(o.Fields)
	heading := "looks at"
	for _, d := range o.DependsOn {
		which := ""
		switch {
		case d.Absent:
			which = ", which is not there"
		case d.Wrong:
			which = ", which has errors: explain it, too"
		}
		p.line(heading, "%s%s", d.Object, which)
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
			text += " (" + told(m.Field, m.Where) + ")"
		}
		live := ""
		if !o.Offline && !o.Unasked {
			live = ": " + m.Live.short()
		}
		p.line(heading, "%s: %s%s", m.Gateway, text, live)
		heading = ""
	}
	if len(o.Made) == 0 {
		p.line("became", "nothing that a proxy has of its own")
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// text is an edit and the time that each stage took, in a line.
func (b Past) text(now time.Time) string {
	text := "an edit"
	if b.Edit != nil {
		text += " " + b.Edit.text(now)
	}
	s := b.Stages
	text += fmt.Sprintf(", read in a turn of %s", s.Turn.Round(10*time.Microsecond))
	if s.Sent == nil || s.Acknowledged == nil {
		return text
	}
	return text + fmt.Sprintf(", sent %s later, live %s later", s.Sent.Sub(*s.Read), s.Acknowledged.Sub(*s.Sent))
}

func (l Live) short() string {
	switch {
	case l.Refused != "":
		return "refused: " + l.Refused + l.kept()
	case l.Files != nil && l.Acknowledged:
		return "written"
	case l.Files != nil:
		return "not written"
	case l.Acknowledged:
		return "acknowledged"
	}
	return "not acknowledged" + l.kept()
}

// keptText is of what is not served as it is now.
const keptText = "; proxies keep what they accepted before"

func (l Live) kept() string {
	if l.Kept {
		return keptText
	}
	return ""
}

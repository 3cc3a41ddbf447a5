package diff

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// simulatedSide is one of the two configurations.
type simulatedSide struct {
	request.Simulation
	moved map[model.BackendKey]string // whereabouts of the backends that move
}

func newSimulatedSide(d dataplane.Dialect, parts *resource.Excerpt, gates request.Gates) (simulatedSide, error) {
	simulation, err := d.Simulate(parts, gates)
	return simulatedSide{simulation, map[model.BackendKey]string{}}, err
}

// nameBackend names a backend, and tells where it is if it moves; "" for the zero one.
func (s simulatedSide) nameBackend(b model.BackendKey) string {
	if b == (model.BackendKey{}) {
		return ""
	}
	return strings.TrimSuffix(b.Describe()+" "+s.moved[b], " ")
}

// requestDifference is one difference that requests show: outcomes that are alike for several requests are listed once.
type requestDifference struct {
	*comparison
	gateway       string
	byHost        bool // it compares the Host header, which is listed then
	before, after simulatedSide
	reported      map[outcomeDiff]int // places in the report
}

// askRoute asks what shows that a route differs: requests that its match takes or nearly takes, and those that show
// what either form does to some only. These say little of a route that came or left where others took its requests to
// another end.
func (s *requestDifference) askRoute(f routeVersions, from request.Request, domain string) {
	s.byHost = f[0].Match.ComparesHost()
	list := f[0].Match.Witnesses(from, domain)
	shown := s.compareRequests(list[0])
	s.compareRequests(list[1:]...)
	if len(f) == 1 && shown {
		return
	}
	for _, r := range f {
		s.compareRequests(r.Stimuli(list[0])...)
	}
}

// compareRequests compares what becomes of requests, and tells whether something differs.
func (s *requestDifference) compareRequests(requests ...request.Request) (differs bool) {
	for _, r := range requests {
		text := requestText(r, s.byHost)
		if s.seen[s.gateway+" "+text] {
			continue
		}
		s.seen[s.gateway+" "+text] = true
		s.budget--
		once, then := s.before.SimulateRequest(r), s.after.SimulateRequest(r)
		was, is := s.before.describeOutcome(r, once), s.after.describeOutcome(r, then)
		if a, b := describeCertificates(once), describeCertificates(then); a != b && a != "" && b != "" {
			was, is = was.withWord(a), is.withWord(b)
		}
		if slices.EqualFunc(was, is, slices.Equal) {
			continue
		}
		differs = true
		key := outcomeDiffOf(was, is)
		if i, known := s.reported[key]; known {
			s.report.Requests[i].Like++
			continue
		}
		s.reported[key] = len(s.report.Requests)
		s.report.Requests = append(s.report.Requests,
			Request{Request: text, Gateway: s.gateway, Before: was.String(), After: is.String()})
	}
	return differs
}

// requestText is a request as `cardea explain` takes it from a shell.
func requestText(r request.Request, withHost bool) string {
	scheme := "http"
	if r.TLS {
		scheme = "https"
	}
	host, _, _ := strings.Cut(r.Host, ":")
	text := shellQuote(r.Method) + " " + shellQuote(fmt.Sprintf("%s://%s:%d%s", scheme, host, r.Port, r.Path))
	if r.TLS && r.SNI != host {
		text += " --sni " + shellQuote(r.SNI)
	}
	if withHost {
		text += " -H " + shellQuote("host:"+r.Host)
	}
	for _, name := range request.HeaderNames(r.Header) {
		text += " -H " + shellQuote(strings.ToLower(name)+":"+strings.Join(r.Header[name], ","))
	}
	return text
}

// shellQuote is a text as one word of a shell; nothing in it moves a terminal's cursor.
func shellQuote(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) {
		quoted := strconv.Quote(text)
		return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
	}
	if !strings.ContainsFunc(text, isShellSpecial) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// isShellSpecial tells whether a shell may understand a character as more than itself.
func isShellSpecial(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:,%@+=", r)
}

// describeOutcome tells who answers, and what is done to the request.
func (s simulatedSide) describeOutcome(sent request.Request, r request.Result) (told outcomeWords) {
	switch {
	case r.Mismatch:
		return outcomeWords{{"the listener passes connections on, and reads no requests"}}
	case r.Closed != "":
		return outcomeWords{{"closed: " + r.Closed}}
	}
	for _, o := range r.Outcomes {
		who := s.nameBackend(o.Backend)
		if o.Status != 0 {
			who = o.AnswerStatus()
		}
		if o.Share < 1 {
			who = fmt.Sprintf("%.3g%% %s", 100*o.Share, who)
		}
		words := []string{who}
		if o.Location != "" {
			words = append(words, "to "+o.Location)
		}
		words = append(words, o.Describe(sent)...)
		for _, m := range o.Mirrors {
			words = append(words, fmt.Sprintf("%.3g%% copied to %s", 100*m.Share, s.nameBackend(m.Backend)))
		}
		told = append(told, words)
	}
	for _, name := range r.NotSimulated {
		told = append(told, []string{"not simulated: " + name})
	}
	return told
}

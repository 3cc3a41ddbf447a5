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

// side is one of the two configurations.
type side struct {
	request.Simulation
	moved map[model.BackendKey]string // whereabouts of the backends that move
}

func newSide(d dataplane.Dialect, parts *resource.Excerpt, gates request.Gates) (side, error) {
	simulation, err := d.Simulate(parts, gates)
	return side{simulation, map[model.BackendKey]string{}}, err
}

// backend names a backend, and tells where it is if it moves; "" for the zero one.
func (s side) backend(b model.BackendKey) string {
	if b == (model.BackendKey{}) {
		return ""
	}
	return strings.TrimSuffix(b.Words()+" "+s.moved[b], " ")
}

// subject is one difference that requests show: outcomes that are alike for several requests are listed once.
type subject struct {
	*comparison
	gateway       string
	byHost        bool // it compares the Host header, which is listed then
	before, after side
	told          map[contrast]int // places in the report
}

// route asks what shows that a route differs: requests that its match takes or nearly takes, and those that show what
// either form does to some only. These say little of a route that came or left where others took its requests to
// another end.
func (s *subject) route(f forms, from request.Request, domain string) {
	s.byHost = f[0].Match.ComparesHost()
	list := f[0].Match.Witnesses(from, domain)
	shown := s.ask(list[0])
	s.ask(list[1:]...)
	if len(f) == 1 && shown {
		return
	}
	for _, r := range f {
		s.ask(r.Stimuli(list[0])...)
	}
}

// ask compares what becomes of requests, and tells whether something differs.
func (s *subject) ask(requests ...request.Request) (differs bool) {
	for _, r := range requests {
		text := requestText(r, s.byHost)
		if s.seen[s.gateway+" "+text] {
			continue
		}
		s.seen[s.gateway+" "+text] = true
		s.left--
		once, then := s.before.Do(r), s.after.Do(r)
		was, is := s.before.outcome(r, once), s.after.outcome(r, then)
		if a, b := certificates(once), certificates(then); a != b && a != "" && b != "" {
			was, is = was.with(a), is.with(b)
		}
		if slices.EqualFunc(was, is, slices.Equal) {
			continue
		}
		differs = true
		key := contrastOf(was, is)
		if i, known := s.told[key]; known {
			s.report.Requests[i].Like++
			continue
		}
		s.told[key] = len(s.report.Requests)
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
	text := word(r.Method) + " " + word(fmt.Sprintf("%s://%s:%d%s", scheme, host, r.Port, r.Path))
	if r.TLS && r.SNI != host {
		text += " --sni " + word(r.SNI)
	}
	if withHost {
		text += " -H " + word("host:"+r.Host)
	}
	for _, name := range request.HeaderNames(r.Header) {
		text += " -H " + word(strings.ToLower(name)+":"+strings.Join(r.Header[name], ","))
	}
	return text
}

// word is a text as one word of a shell; nothing in it moves a terminal's cursor.
func word(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) {
		quoted := strconv.Quote(text)
		return "$'" + strings.ReplaceAll(quoted[1:len(quoted)-1], "'", `\'`) + "'"
	}
	if !strings.ContainsFunc(text, special) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// special tells whether a shell may understand a character as more than itself.
func special(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:,%@+=", r)
}

// outcome tells who answers, and what is done to the request.
func (s side) outcome(sent request.Request, r request.Result) (told fate) {
	if r.Closed != "" {
		return fate{{"closed: " + r.Closed}}
	}
	for _, o := range r.Outcomes {
		who := s.backend(o.Backend)
		if o.Status != 0 {
			who = o.Answer()
		}
		if o.Share < 1 {
			who = fmt.Sprintf("%.3g%% %s", 100*o.Share, who)
		}
		words := []string{who}
		if o.Location != "" {
			words = append(words, "to "+o.Location)
		}
		words = append(words, o.Words(sent)...)
		for _, m := range o.Mirrors {
			words = append(words, fmt.Sprintf("%.3g%% copied to %s", 100*m.Share, s.backend(m.Backend)))
		}
		told = append(told, words)
	}
	for _, name := range r.NotSimulated {
		told = append(told, []string{"not simulated: " + name})
	}
	return told
}

package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/envoy"
	"cardea.dev/cardea/internal/resource"
	"cardea.dev/cardea/internal/simulate"
)

const (
	listed = 50   // requests that are listed
	asked  = 2000 // requests that are compared
)

// comparison compares what was rendered without an edit and with it.
type comparison struct {
	report *Report
	seen   map[string]bool // requests that were compared, by Gateway
	left   int             // how many more may be
}

// compare compares the listeners and tables of a Gateway, and asks both configurations what becomes of requests that witness what differs of
// listeners, and the routes that differ.
func (c *comparison) compare(s *scene) error {
	before, err := config(s.before)
	if err != nil {
		return err
	}
	after, err := config(s.after)
	if err != nil {
		return err
	}
	name := s.gateway.NamespacedName()
	ask := func(requests []simulate.Request) {
		c.witnesses(name, requests, side{before, s.before}, side{after, s.after})
	}
	for _, l := range s.listeners {
		for _, r := range l.witnesses {
			ask([]simulate.Request{r})
		}
	}
	for _, t := range s.tables {
		entrances := after.Entrances(t.key.Name)
		if len(entrances) == 0 {
			entrances = before.Entrances(t.key.Name)
		}
		for _, domain := range t.domains {
			of := Route{Gateway: name, Port: strings.TrimSuffix(t.key.Name, "/0"), Host: domain}
			was, is := before.Routes(t.key.Name, domain), after.Routes(t.key.Name, domain)
			if len(was)+len(is) == 0 { // a host of a listener without routes there: it came or left
				for _, from := range entrances {
					ask(simulate.Witnesses(from, domain, nil)[:1])
				}
			}
			for _, r := range c.routes(of, was, is) {
				if c.left <= 0 {
					c.report.Unasked++
					continue
				}
				for _, from := range entrances {
					ask(simulate.Witnesses(from, domain, r.Match))
				}
			}
		}
	}
	return nil
}

// routes lists the routes that differ, and gives all of whose matches or place something may have changed.
func (c *comparison) routes(of Route, was, is []simulate.Route) (differ []simulate.Route) {
	wasKeys, before := index(was)
	isKeys, after := index(is)
	say := func(change string, r simulate.Route) {
		of.Change, of.Object, of.Match = change, objectOf(r.Name), simulate.Words(r.Match).String()
		c.report.Routes = append(c.report.Routes, of)
		differ = append(differ, r)
	}
	for i, r := range is {
		switch old, found := before[isKeys[i]]; {
		case !found:
			say("+", r)
		case old.Content != r.Content:
			say("~", r)
		}
	}
	for i, r := range was {
		if _, found := after[wasKeys[i]]; !found {
			say("-", r)
		}
	}
	if len(differ) == 0 { // their order is what differs
		return is
	}
	return differ
}

// identity is what makes a route the same one before and after: its rule, what it matches, and its place among equals.
type identity struct {
	name, match string
	ordinal     int
}

func index(list []simulate.Route) (keys []identity, routes map[identity]simulate.Route) {
	routes = map[identity]simulate.Route{}
	for _, r := range list {
		key := identity{name: r.Name, match: simulate.Words(r.Match).String()}
		for _, taken := routes[key]; taken; _, taken = routes[key] {
			key.ordinal++
		}
		keys, routes[key] = append(keys, key), r
	}
	return keys, routes
}

func objectOf(route string) string {
	if rule, ok := envoy.RuleNamed(route); ok {
		return rule.Route.String()
	}
	return route
}

// side is one of the two configurations.
type side struct {
	*simulate.Config
	parts map[resource.Name][]*resource.Part
}

// witnesses compares what becomes of requests that show one thing.
func (c *comparison) witnesses(gateway string, requests []simulate.Request, before, after side) {
	first := len(c.report.Requests)
	for _, r := range requests {
		text := requestText(r)
		if c.seen[gateway+" "+text] {
			continue
		}
		c.seen[gateway+" "+text] = true
		c.left--
		once, then := before.Do(r), after.Do(r)
		was, is := outcomeText(r, once), outcomeText(r, then)
		if a, b := certificates(before.parts, once), certificates(after.parts, then); a != b && a != "" && b != "" {
			was, is = was+a, is+b
		}
		if was == is {
			continue
		}
		own := c.report.Requests[first:]
		if i := slices.IndexFunc(own, func(q Request) bool { return q.Before == was && q.After == is }); i >= 0 {
			own[i].Like++
			continue
		}
		c.report.Requests = append(c.report.Requests, Request{Request: text, Gateway: gateway, Before: was, After: is})
	}
}

// finish sorts, and cuts what is too much to read.
func (c *comparison) finish() {
	slices.SortStableFunc(c.report.Requests, func(a, b Request) int {
		return cmp.Or(strings.Compare(a.Gateway, b.Gateway), strings.Compare(a.Request, b.Request))
	})
	if more := len(c.report.Requests) - listed; more > 0 {
		c.report.Requests, c.report.More = c.report.Requests[:listed], more
	}
}

func requestText(r simulate.Request) string {
	scheme := "http"
	if r.TLS {
		scheme = "https"
	}
	text := fmt.Sprintf("%s %s://%s:%d%s", r.Method, scheme, r.Host, r.Port, r.Path)
	for _, name := range simulate.HeaderNames(r.Header) {
		text += fmt.Sprintf(" -H %s:%s", strings.ToLower(name), printable(strings.Join(r.Header[name], ",")))
	}
	return text
}

// printable is a text as a terminal may have it.
func printable(text string) string {
	if quoted := strconv.Quote(text); quoted[1:len(quoted)-1] != text {
		return quoted
	}
	return text
}

// backendText names the backend that a cluster is of; "": it is of none.
func backendText(cluster string) string {
	if b, ok := envoy.BackendNamed(cluster); ok {
		return b.Words()
	}
	return ""
}

// outcomeText tells who answers, and what is done to the request, in a line.
func outcomeText(sent simulate.Request, r simulate.Result) string {
	if r.Closed != "" {
		return "closed: " + r.Closed
	}
	var list []string
	for _, o := range r.Outcomes {
		share := ""
		if o.Share < 1 {
			share = fmt.Sprintf("%.3g%% ", 100*o.Share)
		}
		var words []string
		if o.Status != 0 {
			words = append(words, fmt.Sprint(o.Status))
		} else if name := backendText(o.Cluster); name != "" {
			words = append(words, name)
		}
		if o.Location != "" {
			words = append(words, "to "+o.Location)
		}
		words = append(words, o.Filters(sent)...)
		for _, m := range o.Mirrors {
			words = append(words, fmt.Sprintf("%.3g%% copied to %s", 100*m.Share, backendText(m.Cluster)))
		}
		list = append(list, share+strings.Join(words, ", "))
	}
	for _, name := range r.NotSimulated {
		list = append(list, "not simulated: "+name)
	}
	return strings.Join(list, "; ")
}

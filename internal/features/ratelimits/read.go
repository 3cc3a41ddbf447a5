package ratelimits

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cardea.dev/cardea/extend"
)

// minInterval is the shortest interval that Envoy takes.
const minInterval = 50 * time.Millisecond

// readSpec leaves out the limits that are lifted, and those that can't be served.
func readSpec(r extend.Reader, s Spec) (v Value) {
	for _, l := range s {
		if l.Unlimited != nil && *l.Unlimited {
			v.Lifted = append(v.Lifted, l.Name)
			continue
		}
		if c, ok := l.readLimit(r.Field("[" + l.Name + "]")); ok {
			v.Limits = append(v.Limits, c)
		}
	}
	return v
}

// refusals are told to a Reader, and remembered.
type refusals struct {
	r   extend.Reader
	any bool
}

func (p *refusals) refuseField(field, format string, args ...any) {
	p.any = true
	r := p.r
	if field != "" {
		r = r.Field(field)
	}
	r.Refuse(fmt.Sprintf(format, args...))
}

func (p *refusals) refuseProblems(field string, list []extend.Problem) {
	p.any = p.any || len(list) > 0
	extend.Refuse(p.r, field, list)
}

func (l Limit) readLimit(r extend.Reader) (c ResolvedLimit, ok bool) {
	p := &refusals{r: r}
	c = ResolvedLimit{
		Name: l.Name, When: l.When, Per: l.Per, Cost: 1, Proxy: l.Scope == Proxy, EachRule: l.Count == EachRule,
		Together: l.Absent == AllTogether, Shadow: l.Mode == Shadow, Headers: l.Headers == DraftVersion03,
	}
	if l.Scope == Global {
		p.refuseField("scope", "Global is not supported yet; write Gateway, where the proxies of a Gateway share the "+
			"limit, or Proxy")
	}
	if l.Status != nil {
		c.Status = *l.Status
	}
	c.Late = l.countsLate(p)
	l.readRate(p, &c)
	l.readCost(p, &c)
	for i, m := range l.When {
		field := fmt.Sprintf("when[%d]", i)
		p.refuseProblems(field, extend.ValidateMatch(m))
		checkIdentities(p, field+".", m.RequestParts)
		if m.Not != nil {
			checkIdentities(p, field+".not.", *m.Not)
		}
	}
	for i, d := range l.Per {
		field := fmt.Sprintf("per[%d]", i)
		problems := d.Validate()
		p.refuseProblems(field, problems)
		if len(problems) == 0 {
			if err := checkDimension(d); err != nil {
				p.refuseField(field, "proxies can't count by it: %v", err)
			}
		}
	}
	if l.Absent != "" && !slices.ContainsFunc(l.Per, mayBeAbsent) {
		r.Field("absent").Warn("it has no effect: each request has a value for all of per; leave it out")
	}
	c.ID = c.Name + "-" + hashJSON(r.Owner(), c)
	return c, !p.any
}

// countsLate tells whether requests are counted after authentication.
func (l Limit) countsLate(p *refusals) bool {
	needs, header := l.needsIdentity(), ""
	if read := headersOf(l.When, l.Per); len(read) > 0 {
		header = extend.ReadOf(read, p.r.IdentityHeaders())
	}
	switch {
	case l.At != BeforeAuthentication:
	case needs:
		p.refuseField("at",
			"the user is not known before authentication; leave it out, or write AfterAuthentication")
	case header != "":
		p.refuseField("at", "header %s is set by authentication; leave it out, or write AfterAuthentication", header)
	}
	return needs || header != "" || l.At == AfterAuthentication
}

func (l Limit) readRate(p *refusals, c *ResolvedLimit) {
	switch {
	case l.Requests == nil:
		p.refuseField("", "it has no requests, here or at a broader level; state requests and interval, or unlimited: true")
	case *l.Requests < 1:
		p.refuseField("requests", "%d would reject every request; write 1 at least, or reject requests with "+
			"authorization.deny of a SecurityPolicy", *l.Requests)
	default:
		c.Requests, c.Burst = uint32(*l.Requests), uint32(*l.Requests)
	}
	if l.Burst != nil {
		if *l.Burst < 1 {
			p.refuseField("burst", "%d would reject every request; write 1 at least, or leave it out", *l.Burst)
		} else {
			c.Burst = uint32(*l.Burst)
		}
	}
	if l.Interval == nil {
		if l.Requests != nil {
			p.refuseField("",
				"it has no interval, here or at a broader level; state the time in which this number of requests may pass: 1s, "+
					"1m, 1h")
		}
		return
	}
	interval, err := extend.Duration(*l.Interval)
	switch {
	case err != nil:
		p.refuseField("interval", "%v", err)
	case interval < minInterval:
		p.refuseField("interval", "%s is too short; write 50ms at least", *l.Interval)
	}
	c.Interval = interval
}

func (l Limit) readCost(p *refusals, c *ResolvedLimit) {
	if l.Cost == nil || l.Cost.Request == nil || l.Cost.Request.Number == nil {
		return
	}
	n := *l.Cost.Request.Number
	if c.Cost = uint32(n); n < 1 || c.Burst > 0 && c.Cost > c.Burst {
		p.refuseField("cost.request.number", "%d is more than burst, %d, so every request would be rejected; write 1 to "+
			"%[2]d", n,
			c.Burst)
	}
}

// checkIdentities refuses claims without a provider: it is not known here which providers' tokens are accepted.
func checkIdentities(p *refusals, prefix string, parts extend.RequestParts) {
	for i, c := range parts.Claims {
		if c.Provider == "" {
			p.refuseField(fmt.Sprintf("%sclaims[%d]", prefix, i), "state its provider: one of jwt.providers of a SecurityPolicy")
		}
	}
	if len(parts.Users) > 0 {
		p.r.Field(prefix + "users").Warn("only users of basicAuth and clients of apiKey match; for a token's subject, " +
			"state claims with the claim sub and the provider")
	}
}

// hashJSON tells limits apart.
func hashJSON(of ...any) string {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err) // plain data
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

package gateway

import (
	"strings"

	"cardea.dev/cardea/internal/core/model"
)

// maxCompared is how many earlier sites of one path a site is compared with: a host may have thousands, which differ in
// headers. Sites behind these are not looked at.
const maxCompared = 100

// earlierSites are sites of one domain by where their paths are, so that a site is compared with few of them.
type earlierSites map[string][]earlierSite

type earlierSite struct {
	key  model.SiteKey
	site model.Site
}

// expressions is the key of sites that have no literal path or service to look them up by.
const expressions = "~"

// under is where a match is.
func under(m model.Match) string {
	switch {
	case m.GRPC != nil && (m.GRPC.Regex || m.GRPC.Service == ""), m.Path.Type == model.PathRegex:
		return expressions
	case m.GRPC != nil:
		return m.GRPC.Service
	}
	return strings.TrimRight(m.Path.Value, "/")
}

func (e earlierSites) add(k model.SiteKey, s model.Site) {
	at := under(*s.Match)
	if len(e[at]) < maxCompared {
		e[at] = append(e[at], earlierSite{k, s})
	}
}

// covering finds an earlier site of another rule that covers this one, in the first place where there is one: its own
// path, a shorter one, an expression.
func (e earlierSites) covering(k model.SiteKey, s model.Site) (by earlierSite, found bool) {
	at := strings.TrimRight(s.Match.Path.Value, "/")
	if s.Match.GRPC != nil {
		at = s.Match.GRPC.Service
	}
	for {
		if by, found = e.among(at, k, s); found {
			return by, true
		}
		slash := strings.LastIndexByte(at, '/')
		if slash < 0 {
			return e.among(expressions, k, s)
		}
		at = at[:slash]
	}
}

func (e earlierSites) among(at string, k model.SiteKey, s model.Site) (by earlierSite, found bool) {
	for _, by := range e[at] {
		if by.key.Rule != k.Rule && by.site.Match.Covers(*s.Match) {
			return by, true
		}
	}
	return by, false
}

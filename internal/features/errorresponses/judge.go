package errorresponses

import (
	"regexp"
	"strings"

	"cardea.dev/cardea/extend"
)

// judge tells of pages that have another status than the error. Which answer comes can't be told.
func judge(q extend.Request, v Value) (list []extend.Verdict) {
	if strings.HasPrefix(q.Header.Get("Content-Type"), "application/grpc") {
		return nil
	}
	for _, p := range v.Pages {
		if p.Status == 0 || len(p.Accept) > 0 && !accepts(q, p.Accept) {
			continue
		}
		list = append(list, extend.Verdict{Status: int(p.Status), If: p.words()})
	}
	return list
}

func accepts(q extend.Request, types []string) bool {
	return regexp.MustCompile("^(?:" + acceptExpression(types) + ")$").MatchString(strings.Join(q.Header["Accept"], ","))
}

// words tell when a page does not come.
func (p page) words() string {
	words := "the answer's status is not " + strings.Join(p.Codes, " or ")
	switch p.From {
	case Proxy:
		words += ", or the backend made it"
	case Backend:
		words += ", or the proxy made it"
	}
	if len(p.Headers) > 0 {
		words += ", or its headers do not match"
	}
	return words
}

package route

import (
	"errors"
	"regexp"
	"strings"

	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"cardea.dev/cardea/internal/core/model"
)

// pathEdit is how Envoy is told to change a path; one field is set, or none if nothing is to change. The query string
// is kept in every form.
type pathEdit struct {
	whole  string // literal
	prefix string // in place of the prefix that matched
	regex  *matcherv3.RegexMatchAndSubstitute
}

var errPrefixRewrite = errors.New("a prefix can be replaced only where a path prefix was matched")

// editPath finds the form for a rewrite behind a match.
//
// Envoy puts prefix_rewrite in place of the characters that matched. By path elements (HTTPPathModifier) that is right
// unless one side is the empty prefix: "/" then stands for nothing, but Envoy counts its slash.
func editPath(r *model.PathRewrite, m model.PathMatch) (pathEdit, error) {
	if r == nil {
		return pathEdit{}, nil
	}
	if !r.Prefix {
		return pathEdit{whole: withLeadingSlash(r.Value)}, nil
	}
	to := trimTrailingSlash(r.Value)
	if to != "" {
		to = withLeadingSlash(to)
	}
	switch m.Type {
	case model.PathExact, model.PathNone:
		return pathEdit{whole: withLeadingSlash(to)}, nil
	case model.PathPrefix, "":
		from := trimTrailingSlash(m.Value)
		switch {
		case from == "" && to == "":
			return pathEdit{}, nil
		case from == "": // "/a" becomes "/to/a"
			return pathEdit{prefix: to + "/"}, nil
		case to == "": // "/from" and "/from/" become "/", "/from/a" becomes "/a"
			return pathEdit{regex: &matcherv3.RegexMatchAndSubstitute{
				Pattern:      &matcherv3.RegexMatcher{Regex: "^" + regexp.QuoteMeta(from) + "/?"},
				Substitution: "/",
			}}, nil
		}
		return pathEdit{prefix: to}, nil
	}
	return pathEdit{}, errPrefixRewrite
}

// withLeadingSlash starts a path with a slash.
func withLeadingSlash(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "/" + path
}

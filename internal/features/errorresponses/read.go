package errorresponses

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"cardea.dev/cardea/extend"
)

// maxBodyBytes is the size of a page's body, in bytes. It stands in proxies for each level that states a page.
const maxBodyBytes = 64 << 10

func readSpec(r extend.Reader, s Spec) (v Value) {
	for _, spec := range s {
		v.Pages = append(v.Pages, readPage(r.Field("["+spec.Name+"]"), spec))
	}
	return v
}

func readPage(r extend.Reader, s Page) page {
	p := page{Name: s.Name, Headers: s.Headers, From: s.From, Codes: readCodes(r, s.Codes), Accept: readAcceptTypes(r,
		s.Accept)}
	switch s.From {
	case "":
		p.From = Any
	case Proxy, Backend, Any:
	default:
		r.Field("from").Refuse(fmt.Sprintf("%q is not known; write Proxy, Backend or Any", s.From))
	}
	if len(s.Headers) > 0 {
		match := extend.RequestMatch{RequestParts: extend.RequestParts{Headers: s.Headers}}
		extend.Refuse(r, "", extend.ValidateMatch(match))
	}
	if s.Status != nil {
		p.Status = uint32(*s.Status)
	}
	if s.Body == nil && s.RedirectTo == "" {
		r.Refuse("state what is answered: body, or redirectTo")
	}
	if s.Body != nil {
		p.Body = readBody(r.Field("body"), *s.Body)
		p.ContentType = contentType(r.Field("contentType"), s.ContentType)
	} else if s.ContentType != "" {
		r.Field("contentType").Refuse("it has no effect without body; state body, or leave it out")
	}
	p.readRedirect(r, s)
	return p
}

var codePattern = regexp.MustCompile(`^[1-5]([0-9][0-9]|xx)$`)

func readCodes(r extend.Reader, list []string) (read []string) {
	if len(list) == 0 {
		r.Refuse(`name the statuses that the page replaces in codes: "503", "5xx"`)
	}
	for i, c := range list {
		r := r.Field(fmt.Sprintf("codes[%d]", i))
		switch {
		case !codePattern.MatchString(c):
			r.Refuse(fmt.Sprintf(`%q is neither a status nor a class; write "503", "4xx" or "5xx"`, c))
		case c[0] < '4':
			r.Refuse(c + " is not an error: responses below 400 are never replaced, so that redirects to a login page work")
		default:
			read = append(read, c)
		}
	}
	return read
}

func readAcceptTypes(r extend.Reader, list []string) (read []string) {
	for i, t := range list {
		parsed, params, err := mime.ParseMediaType(t)
		if err != nil || len(params) > 0 || !strings.Contains(parsed, "/") {
			r.Field(fmt.Sprintf("accept[%d]", i)).Refuse(fmt.Sprintf("%q is not a type without parameters; write text/html", t))
			continue
		}
		read = append(read, parsed)
	}
	return read
}

func readBody(r extend.Reader, from extend.TextSource) string {
	text, found := r.Text(from)
	if found && len(text) > maxBodyBytes {
		r.Refuse(fmt.Sprintf("it has %d bytes; 65536 at most", len(text)))
	}
	return text
}

func contentType(r extend.Reader, stated string) string {
	if stated == "" {
		return "text/plain;charset=utf-8"
	}
	if parsed, _, err := mime.ParseMediaType(stated); err != nil || !strings.Contains(parsed, "/") {
		r.Refuse(fmt.Sprintf("%q is not a type; write text/html; charset=utf-8", stated))
	}
	return stated
}

// readRedirect reads where a client is sent to.
func (p *page) readRedirect(r extend.Reader, s Page) {
	redirects := p.Status >= http.StatusMultipleChoices && p.Status < http.StatusBadRequest
	switch {
	case s.RedirectTo == "" && redirects:
		r.Field("status").Refuse("a redirect needs redirectTo; state it, or another status")
	case s.RedirectTo == "":
	case s.Body != nil:
		r.Field("redirectTo").Refuse("a page has either body or redirectTo; leave one out")
	case p.Status != 0 && !redirects:
		r.Field("status").Refuse(fmt.Sprintf("%d does not redirect; write 302, 303 or 307, or leave it out", p.Status))
	case !isLocation(s.RedirectTo):
		r.Field("redirectTo").Refuse(fmt.Sprintf("%q is neither a path nor a URL; write /sorry or https://example.com/sorry",
			s.RedirectTo))
	default:
		p.Location = s.RedirectTo
		if p.Status == 0 {
			p.Status = http.StatusFound
		}
	}
}

func isLocation(text string) bool {
	u, err := url.Parse(text)
	if err != nil || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
		return false
	}
	return u.Scheme == "" && strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//") ||
		(u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

package extend

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

// Document is something that is fetched over HTTP.
type Document struct {
	URL     string     // as ReadURL reads it
	Through BackendKey // the backend that is asked for it, in the name of the URL's host; zero: the URL's host is asked
	// Refresh is the time after which it is asked for again.
	Refresh time.Duration
	// Member must be in the document, which is a JSON object then, and not be empty. Without it, the document counts as
	// not fetched: what was fetched before is kept. "": any document will do.
	Member string
}

// ReadURL reads the URL of something that is fetched; found is false if it is refused.
func ReadURL(r Reader, text string) (found bool) {
	u, err := url.Parse(text)
	if err != nil {
		r.Refuse("it is not a URL")
		return false
	}
	host := u.Hostname()
	address, notAddress := netip.ParseAddr(host)
	switch {
	case !strings.EqualFold(u.Scheme, "https") && !strings.EqualFold(u.Scheme, "http") || host == "":
		r.Refuse(fmt.Sprintf("%q is not a URL of http or https with a host; write https://HOST/PATH", text))
	case u.User != nil:
		r.Refuse("it has a user name, but credentials are not sent; remove the user name")
	case u.Fragment != "":
		r.Refuse("the part from # on is not sent; remove it")
	case notAddress == nil && model.IsMetadata(address):
		r.Refuse(fmt.Sprintf("nothing is fetched from %s: it is the address of a metadata service, which has the "+
			"credentials of machines", address))
	default:
		if strings.EqualFold(u.Scheme, "http") {
			r.Warn("it is fetched without TLS, so anyone on the network path can change it; use https")
		}
		return true
	}
	return false
}

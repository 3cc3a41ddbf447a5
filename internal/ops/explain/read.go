package explain

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"

	"cardea.dev/cardea/internal/core/request"
)

// parsedRequest is a request or, by its scheme, a connection; and the port that its URL names. Of a connection only
// TLS, SNI, Host and client are stated.
type parsedRequest struct {
	request.Request
	scheme string
	text   string
	port   int32
	client netip.Addr // of a connection; zero: it is not known
}

// parseRequest makes a question a request, as a client would send it. A request that no client can send is an error.
func (q Question) parseRequest() (parsedRequest, error) {
	whole, _, _ := strings.Cut(q.URL, "#")
	scheme, rest, _ := strings.Cut(whole, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		end = i
	}
	u, err := url.Parse(scheme + "://" + rest[:end])
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok {
			err = of.Err
		}
		return parsedRequest{}, fmt.Errorf("%q: %w", q.URL, err)
	}
	switch u.Scheme {
	case "ws": // a WebSocket begins as a request
		u.Scheme = "http"
	case "wss":
		u.Scheme = "https"
	}
	switch u.Scheme {
	case schemeTCP, schemeTLS, schemeUDP:
		if u.Hostname() != "" {
			return q.parseConnection(u, rest[end:])
		}
	}
	if u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return parsedRequest{}, fmt.Errorf("%q: %w", q.URL, errNoURL)
	}
	if q.Client != "" {
		return parsedRequest{}, fmt.Errorf("%q: --client is for connections: ask with tcp://, tls:// or udp://", q.URL)
	}
	path, err := sentPath(rest[end:])
	if err != nil {
		return parsedRequest{}, fmt.Errorf("%q: %w", q.URL, err)
	}
	c := parsedRequest{scheme: u.Scheme, text: cmp.Or(q.Method, http.MethodGet) + " " + q.URL, port: 80}
	c.Request = request.Request{
		Method: cmp.Or(q.Method, http.MethodGet), Host: sentHost(u.Host), Path: path, Header: http.Header{},
		TLS: u.Scheme == "https",
	}
	if !isToken(c.Method) {
		return parsedRequest{}, fmt.Errorf("-X %q: %w", c.Method, errToken)
	}
	if c.TLS {
		c.port = 443
		c.SNI = sentServerName(q.SNI, sentHost(u.Hostname()))
	}
	if u.Port() != "" {
		if c.port, err = parsePort(u.Port()); err != nil {
			return parsedRequest{}, err
		}
	}
	if q.Agent != nil {
		c.setAgent(*q.Agent)
	}
	for _, h := range q.Headers {
		if err := c.addHeader(h); err != nil {
			return parsedRequest{}, fmt.Errorf("-H %q: %w", h, err)
		}
	}
	return c, nil
}

// setAgent makes it what an agent sends.
func (c *parsedRequest) setAgent(of request.Agent) {
	c.Agent = &of
	c.text = strings.Replace(c.text, c.Method, http.MethodPost, 1)
	c.text = fmt.Sprintf("%s by %s: %s", c.text, cmp.Or(of.Caller, "somebody without a certificate"), of.Method)
	if name, named := of.Params["name"].(string); named {
		c.text += " " + name
	}
	c.Method = http.MethodPost
	c.Header.Set("Content-Type", "application/json")
	c.Header.Set("Accept", "application/json, text/event-stream")
}

// addHeader adds a header, "name: value".
func (c *parsedRequest) addHeader(header string) error {
	name, value, found := strings.Cut(header, ":")
	if name = strings.TrimSpace(name); !found || name == "" {
		return errors.New("want 'name: value'")
	}
	value = strings.TrimSpace(value)
	switch {
	case !isToken(name):
		return fmt.Errorf("%q is no name of a header: %w", name, errToken)
	case !httpguts.ValidHeaderFieldValue(value):
		return errors.New("a header's value has no control characters, such as a line break")
	case strings.EqualFold(name, "host"):
		c.Host = value
	default:
		c.Header.Add(name, value)
	}
	return nil
}

var errToken = errors.New("want one word of letters, digits and !#$%&'*+-.^_`|~")

func isToken(word string) bool { return httpguts.ValidHeaderFieldName(word) }

// sentPath is a path and query, as clients send them: not ASCII, or a space, is escaped, all else is left to the proxy.
func sentPath(text string) (string, error) {
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	sent := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		switch {
		case c < ' ' || c == 0x7f:
			return "", errors.New("no URL has a control character, such as a line break: escape it (%0A)")
		case c == ' ' || c > 0x7f:
			sent = fmt.Appendf(sent, "%%%02X", c)
		default:
			sent = append(sent, c)
		}
	}
	return string(sent), nil
}

// sentHost is a host, or one with a port, as clients send it: an international name in its form of ASCII.
func sentHost(host string) string {
	name, port, _ := strings.Cut(host, ":")
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil || !strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f }) {
		return host
	}
	return strings.TrimSuffix(ascii+":"+port, ":")
}

package simulate

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	"google.golang.org/protobuf/encoding/protowire"

	"cardea.dev/cardea/internal/core/request"
)

// keepSession sends a request of a session to the session's endpoint, if the cluster has it; else any endpoint takes
// the client, as it takes one without a session.
func (s *simulation) keepSession(session *statefulsessionv3.StatefulSession, o *Outcome) {
	cookie, header := new(cookiev3.CookieBasedSessionState), new(headerv3.HeaderBasedSessionState)
	state, endpoint := session.GetSessionState().GetTypedConfig(), ""
	switch {
	case state.UnmarshalTo(cookie) == nil:
		s.noteUnknownFields(cookie, "cookie")
		s.noteUnknownFields(cookie.GetCookie(), "name", "path", "ttl")
		name := cookie.GetCookie().GetName()
		if path := cookie.GetCookie().GetPath(); !isPathCovered(s.current.Path, path) {
			o.Unkept = fmt.Sprintf("cookie %s (path %s)", name, path)
			return
		}
		o.Session, endpoint = "cookie "+name, s.sessionEndpoint(cookieOf(s.current, name))
	case state.UnmarshalTo(header) == nil:
		s.noteUnknownFields(header, "name")
		o.Session = "header " + header.GetName()
		if values := s.current.Header.Values(header.GetName()); len(values) > 0 {
			endpoint = decodeBase64(values[0])
		}
	default:
		s.noteNotSimulated(session.GetSessionState().GetName())
		return
	}
	switch {
	case endpoint == "", len(o.Endpoints) == 1:
	case o.Named:
		s.noteNotSimulated("a session at one of several names") // it names an address
	case slices.Contains(o.Endpoints, endpoint):
		o.Endpoints = []string{endpoint}
	}
}

// isPathCovered tells whether a cookie's path covers a request's, query included.
func isPathCovered(request, cookie string) bool {
	rest, below := strings.CutPrefix(request, cookie)
	return below && (cookie == "" || strings.HasSuffix(cookie, "/") || rest == "" || strings.ContainsAny(rest[:1], "/?#"))
}

// cookieOf is the value of a request's cookie; "" if there is none.
func cookieOf(r request.Request, name string) string {
	for _, line := range r.Header.Values("Cookie") {
		for pair := range strings.SplitSeq(line, ";") {
			if key, value, _ := strings.Cut(strings.TrimSpace(pair), "="); key == name {
				return strings.Trim(value, `"`)
			}
		}
	}
	return ""
}

func decodeBase64(text string) string {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(b)
}

// sessionEndpoint reads the value of a session's cookie: a message of two fields, the endpoint's address and the time
// at which the session ends. It is "" if there is none, or if only the clock knows.
func (s *simulation) sessionEndpoint(value string) (endpoint string) {
	ends := false
	err := eachField([]byte(decodeBase64(value)), func(number protowire.Number, _, text []byte) error {
		switch number {
		case 1:
			endpoint = string(text)
		case 2:
			ends = true
		}
		return nil
	})
	if ends {
		s.noteNotSimulated("Cookie.expires")
	}
	if err != nil || ends {
		return ""
	}
	return endpoint
}

package envoy

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	statefulsessionv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/stateful_session/v3"
	cookiev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/cookie/v3"
	headerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/stateful_session/header/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/type/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"cardea.dev/cardea/internal/core/model"
)

// statefulSession renders the filter that keeps a client at its endpoint: the client carries the endpoint's address. If
// that endpoint is gone, another one takes the client. A lifetime is of whole seconds, as a cookie's is (RFC 6265,
// Max-Age): Envoy would cut 0.5 s to none, which is for ever.
func statefulSession(s *model.Session) *statefulsessionv3.StatefulSession {
	state := &corev3.TypedExtensionConfig{
		Name: "envoy.http.stateful_session.cookie",
		TypedConfig: mustAny(&cookiev3.CookieBasedSessionState{Cookie: &httpv3.Cookie{
			Name: s.Cookie, Path: s.Path, Ttl: durationpb.New((s.Lifetime + time.Second - 1).Truncate(time.Second)),
		}}),
	}
	if s.Header != "" {
		state = &corev3.TypedExtensionConfig{
			Name: "envoy.http.stateful_session.header", TypedConfig: mustAny(&headerv3.HeaderBasedSessionState{Name: s.Header}),
		}
	}
	return &statefulsessionv3.StatefulSession{SessionState: state}
}

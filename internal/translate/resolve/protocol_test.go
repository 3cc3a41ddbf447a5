package resolve

import (
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// TestProtocols: what an appProtocol means without TLS, and where a policy has it spoken.
func TestProtocols(t *testing.T) {
	type meaning struct {
		plain, over       model.BackendProtocol
		isPlain, isSecure bool
		http1             bool
	}
	for app, want := range map[string]meaning{
		"":                  {model.HTTP1, model.NegotiatedHTTP, true, true, false},
		"http":              {model.HTTP1, model.NegotiatedHTTP, true, true, false},
		"https":             {"", model.NegotiatedHTTP, false, true, false},
		"HTTPS":             {"", model.NegotiatedHTTP, false, true, false},
		"kubernetes.io/h2c": {model.HTTP2, model.HTTP2, true, true, false},
		"kubernetes.io/ws":  {model.HTTP1, model.HTTP1, true, true, true},
		"kubernetes.io/wss": {"", model.HTTP1, false, true, true},
		"example.com/own":   {},
	} {
		var got meaning
		got.plain, got.isPlain = ProtocolOf(&app)
		got.over, got.isSecure = ProtocolOverTLS(&app)
		if got.http1 = IsHTTP1Only(&app); got != want {
			t.Errorf("%q: %+v, want %+v", app, got, want)
		}
	}
	if p, ok := ProtocolOverTLS(nil); p != model.NegotiatedHTTP || !ok {
		t.Errorf("none: %q, %v", p, ok)
	}
}

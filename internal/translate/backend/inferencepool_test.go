package backend

import (
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/model"
)

// TestMetricsToken: a pool names the Secret with the token that Cardea's picker gives model servers. It counts for no
// other picker, nor does a name that no Secret can have.
func TestMetricsToken(t *testing.T) {
	for name, c := range map[string]struct {
		own          bool
		named, token string
		says         string
	}{
		"a Secret":         {own: true, named: "key", token: "key"},
		"none":             {own: true},
		"none, no own":     {},
		"no own picker":    {named: "key", says: "Cardea runs no picker"},
		"no such name":     {own: true, named: "other/key", says: `"other/key" is not a valid name of a Secret`},
		"name in capitals": {own: true, named: "Key", says: `"Key" is not a valid name of a Secret`},
	} {
		p := inferencePool{Pool: model.Pool{Own: c.own}}
		said := ""
		for _, is := range p.readToken(c.named) {
			said += is.Message
		}
		if p.Token != c.token || (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
			t.Errorf("%s: token %q, %q", name, p.Token, said)
		}
	}
}

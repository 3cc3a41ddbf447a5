package envoy

import (
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/resource"
)

func TestRefusedResources(t *testing.T) {
	const lds, cds = "Error adding/updating listener(s) ", "Error adding/updating cluster(s) "
	for _, c := range []struct {
		name    string
		typ     resource.Type
		sent    string
		message string
		want    string
	}{
		{"listeners, a line each", resource.Listener, "80 443 8080", lds + "80: bad\n8080: worse", "80 8080"},
		{"clusters, after commas", resource.Cluster, "a b c", cds + "a: bad, c: worse", "a c"},
		{"the only one, whatever is said", resource.Listener, "80", "no", "80"},
		{"a name in another one's words", resource.Listener, "443 80", lds + "443: chains 'x', 80: and 'y' clash", "443"},
		{"a name at the end of another one's words", resource.Listener, "443 80", lds +
			"443: cannot bind 'host:80': in use", "443"},
		{"a name that another one begins with", resource.Listener, "80 8080", lds + "8080: bad", "8080"},
		{"a name that another one ends with", resource.Cluster, "a/b b", cds + "a/b: bad", "a/b"},
		{"what was sent before can't be named after", resource.Cluster, "a b", cds + "b: at x, a: no", "b"},
		{"a name that was not sent", resource.Listener, "80 443", lds + "9090: bad\n443: bad", ""},
		{"several lines about one", resource.Listener, "80 443 90", lds + "80: filters {\n  port: 443\n}\n90: bad", "80 90"},
		{"a colon in a name", resource.Listener, "a: b a", lds + "a: b: bad", ""},
		{"words that only look so", resource.Cluster, "a b", "Proto constraint(s) a: bad", ""},
		{"nobody is named", resource.Cluster, "a b", "Proto constraint validation failed", ""},
		{"a type that Envoy never names", resource.Endpoints, "a b", cds + "a: bad", ""},
		{"nothing after the prefix", resource.Cluster, "a b", cds, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := strings.Fields(c.sent)
			if strings.Contains(c.sent, ":") {
				sent = []string{"a: b", "a"}
			}
			found := (refusals{}).Read(c.typ, sent, c.message)
			if got := strings.Join(slices.DeleteFunc(sent, func(n string) bool { return found[n].Message == "" }),
				" "); got != c.want || len(found) > len(sent) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestReasons: each has the words that it would have if it had been alone in the response.
func TestReasons(t *testing.T) {
	const lds = "Error adding/updating listener(s) "
	found := (refusals{}).Read(resource.Listener, []string{"80", "443", "90"},
		lds+"80: filters {\n  port: 443\n}\n90: cannot bind 'a:90': no")
	if len(found) != 2 || found["80"].Message != lds+"80: filters {\n  port: 443\n}" ||
		found["90"].Message != lds+"90: cannot bind 'a:90': no" {
		t.Errorf("%q", found)
	}
}

// FuzzRefusals: whatever the words are, only what was sent is named, and in this order; and no word is lost.
func FuzzRefusals(f *testing.F) {
	f.Add("Error adding/updating listener(s) 80: bad\n443: bad")
	f.Add("Error adding/updating listener(s) 443: bad\n80: bad\n443: bad")
	sent := []string{"80", "443", "8080"}
	prefix := namings[resource.Listener].prefix
	f.Fuzz(func(t *testing.T, message string) {
		found := (refusals{}).Read(resource.Listener, sent, message)
		var words []string
		for _, name := range sent {
			if reason, named := found[name]; named {
				said := reason.Message
				words = append(words, strings.TrimPrefix(said, prefix))
				if !strings.HasPrefix(said, prefix+name) {
					t.Fatalf("%q is said of %s", said, name)
				}
			}
		}
		if len(words) != len(found) || len(found) > 0 && prefix+strings.Join(words, "\n") != message {
			t.Fatalf("%q", found)
		}
	})
}

// TestBindFailures over what Envoy 1.40 says of addresses, and of content.
func TestBindFailures(t *testing.T) {
	const lds = "Error adding/updating listener(s) "
	for message, want := range map[string]resource.Reason{
		lds + "80: cannot bind '127.0.0.1:80': Address already in use": {Kind: resource.PortTaken, Address: "127.0.0.1:80"},
		lds + "80: cannot bind '[::]:80': Permission denied":           {Kind: resource.PortForbidden, Address: "[::]:80"},
		lds + "80: cannot bind '10.1.2.3:80': Cannot assign requested address": {
			Kind: resource.AddressUnknown, Address: "10.1.2.3:80",
		},
		lds + "80: no such filter: cannot bind '127.0.0.1:80'":                              {},
		lds + "81: cannot bind '127.0.0.1:81': Address already in use":                      {},
		lds + "80: error adding listener: '80' has duplicate address '127.0.0.1:80' as ...": {},
		"cannot bind '127.0.0.1:80': Address already in use":                                {},
	} {
		want.Message = message
		if got := (refusals{}).Read(resource.Listener, []string{"80"}, message)["80"]; got != want {
			t.Errorf("%s: %+v, want %+v", message, got, want)
		}
	}
	two := lds + "443: no such filter\n80: cannot bind '127.0.0.1:80': Address already in use"
	found := refusals{}.Read(resource.Listener, []string{"443", "80"}, two)
	if found["443"].Kind != resource.ContentRefused || found["80"].Kind != resource.PortTaken {
		t.Errorf("%+v", found)
	}
	if got := (refusals{}).Read(resource.Cluster, []string{"80"},
		lds+"80: cannot bind 'a:1'")["80"].Kind; got != resource.ContentRefused {
		t.Errorf("a cluster's address: kind %d", got)
	}
}

// TestTypes: each type has an entry, and what it refers to comes before or after it as the order of additions wants it.
func TestTypes(t *testing.T) {
	position := map[resource.Type]int{}
	for i, spec := range Protocol().Types {
		position[spec.Type] = i
		if got, found := TypeOf(spec.URL); !found || got != spec.Type || TypeURL(spec.Type) != spec.URL {
			t.Errorf("%s: its URL %s is that of %s", spec.Type, spec.URL, got)
		}
	}
	for _, typ := range resource.Types() {
		if _, found := position[typ]; !found {
			t.Errorf("%s has no entry", typ)
		}
	}
	for _, spec := range Protocol().Types {
		for _, awaited := range spec.Awaits {
			if position[awaited] > position[spec.Type] {
				t.Errorf("%s awaits %s, which is sent later", spec.Type, awaited)
			}
		}
	}
}

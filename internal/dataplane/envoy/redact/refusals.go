package redact

import (
	"strings"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

// RefusalParser reads Envoy's error details.
type RefusalParser struct{}

var _ resource.RefusalParser = RefusalParser{}

// refusalFormat is how Envoy names what it refused: after a prefix come names with their reasons, one after the other.
type refusalFormat struct{ prefix, between string }

var refusalFormats = map[resource.Type]refusalFormat{
	xdstypes.Cluster:  {"Error adding/updating cluster(s) ", ", "},
	xdstypes.Listener: {"Error adding/updating listener(s) ", "\n"},
}

// ParseRefusal knows the only resource of a response, or those that Envoy names, as in
//
//	Error adding/updating listener(s) a: cannot bind '127.0.0.1:80': Address already in use
//	b: ...
//
// Envoy takes resources in the order in which they were sent, so a name that comes later in its words was sent later. A
// reason may hold anything, such as what looks like a name; so a name counts only where one must stand. In doubt it is
// left out: a resource that is not named here is sent again and refused again, but one that is named is not sent any
// more.
func (RefusalParser) ParseRefusal(t resource.Type, names []string, message string) map[string]resource.RefusalReason {
	found := map[string]resource.RefusalReason{}
	for name, words := range attributeReasons(t, names, message) {
		kind, address := bindFailure(t, name, words)
		found[name] = resource.RefusalReason{Kind: kind, Address: address, Message: words}
	}
	return found
}

func attributeReasons(t resource.Type, names []string, message string) map[string]string {
	if len(names) == 1 {
		return map[string]string{names[0]: message}
	}
	n := refusalFormats[t]
	rest, ok := strings.CutPrefix(message, n.prefix)
	if !ok || n.prefix == "" {
		return nil
	}
	position := make(map[string]int, len(names))
	for i, name := range names {
		if strings.Contains(name, ": ") {
			return nil // where the name ends would not be known
		}
		position[name] = i
	}
	found := map[string]string{}
	var name string // the resource that the words are about
	last := -1
	for line := range strings.SplitSeq(rest, n.between) {
		next, _, _ := strings.Cut(line, ": ")
		switch i, sent := position[next]; {
		case sent && i > last:
			name, last = next, i
			found[name] = n.prefix + line
		case name == "":
			return nil // the first name must be here
		default:
			found[name] += n.between + line
		}
	}
	return found
}

// bindFailure tells whether a listener was refused for an address, which one, and why, in the system's words. Envoy
// binds it after it has found nothing wrong with the content, so other reasons do not begin like this.
func bindFailure(t resource.Type, name, words string) (resource.RefusalKind, string) {
	rest, found := strings.CutPrefix(words, refusalFormats[xdstypes.Listener].prefix+name+": cannot bind '")
	if !found || t != xdstypes.Listener {
		return resource.ContentRefused, ""
	}
	address, why, _ := strings.Cut(rest, "'")
	switch {
	case strings.Contains(why, "Permission denied"):
		return resource.PortForbidden, address
	case strings.Contains(why, "Cannot assign requested address"):
		return resource.AddressUnknown, address
	}
	return resource.PortTaken, address
}

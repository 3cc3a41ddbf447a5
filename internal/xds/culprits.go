package xds

import (
	"strings"

	"cardea.dev/cardea/internal/resource"
)

// naming is how Envoy names what it refused: after a prefix come names with their reasons, one after the other.
type naming struct{ prefix, between string }

var namings = map[resource.Type]naming{
	resource.Cluster:  {"Error adding/updating cluster(s) ", ", "},
	resource.Listener: {"Error adding/updating listener(s) ", "\n"},
}

// culprits are the resources that a refusal is about, with what is said of each: the only one, or those that Envoy names, as in
//
//	Error adding/updating listener(s) a: cannot bind '127.0.0.1:80': Address already in use
//	b: ...
//
// What is said of one is told as if it had been alone.
//
// Names are all that were sent, in this order. Envoy takes them in turn, so what it names next was sent later. A reason may
// hold anything, such as what looks like a name; so a name counts only where one must stand. In doubt it is left out: who is
// not named here is sent again and refused again, but who is named is not sent any more.
func culprits(t resource.Type, names []string, message string) map[string]string {
	if len(names) == 1 {
		return map[string]string{names[0]: message}
	}
	n := namings[t]
	rest, ok := strings.CutPrefix(message, n.prefix)
	if !ok || n.prefix == "" {
		return nil
	}
	position := make(map[string]int, len(names))
	for i, name := range names {
		if strings.Contains(name, ": ") {
			return nil // nobody could tell where it ends
		}
		position[name] = i
	}
	found := map[string]string{}
	var name string // whom it is about
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

// names are those of its resources, in the order sent.
func (r *response) names() []string {
	names := make([]string, 0, len(r.items))
	for _, s := range r.items {
		names = append(names, s.name.Name)
	}
	return names
}

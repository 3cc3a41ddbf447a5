package kinds

import (
	"fmt"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// Backends are Cardea's own kinds of backends.
func Backends() []*kind.Kind {
	return []*kind.Kind{serviceKind(), xBackend(), mcpBackend(), inferencePool()}
}

// prefixes begin the names of objects of Cardea's own kinds in data planes.
var prefixes = func() map[model.Kind]string {
	all := map[model.Kind]string{}
	for _, k := range listAll() {
		all[k.Kind] = strings.ToLower(k.String())
	}
	all[model.KindMCPBackend] = "mcp" // else that of the XBackend of the Gateway API
	return all
}()

// Prefix begins the names of a kind's objects in data planes. It tells kinds apart: those that are not Cardea's own
// have their group in it.
func Prefix(k model.Kind) string {
	if own, is := prefixes[k]; is {
		return own
	}
	return strings.ToLower(strings.TrimSuffix(k.String()+"."+k.Group(), "."))
}

// checkPrefixes panics if two kinds have one prefix: their objects would have one name in data planes.
func checkPrefixes(list []*kind.Kind) {
	taken := map[string]model.Kind{}
	for _, k := range list {
		prefix := Prefix(k.Kind)
		if other, is := taken[prefix]; is && other != k.Kind {
			panic(fmt.Sprintf("kinds: %s and %s of group %q have one prefix, %s", other, k, k.Group(), prefix))
		}
		taken[prefix] = k.Kind
	}
}

// namesOf are the kinds of backends.
func namesOf(backends []*kind.Kind) (list []model.Kind) {
	for _, b := range backends {
		list = append(list, b.Kind)
	}
	return list
}

// backendLimit says which backends a reference can name: that of a rule, or that of a filter.
func backendLimit(ofRule bool) string {
	var names []string
	for _, b := range Backends() {
		if name := b.String(); (ofRule || !b.Backend.RulesOnly) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last] + "; others are refused"
}

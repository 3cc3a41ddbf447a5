package apply

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// difference is one field that is not as stated.
type difference struct {
	path          string
	wanted, found any  // found: what is in the cluster, whoever owns it; nil: nothing
	surplus       bool // nobody stated it
}

// comparison finds the parts of a stated value that are not owned, or have another value. Parts that are owned and not
// stated are no difference: the API server adds defaults.
type comparison struct {
	lenient bool // quantities are compared by what they mean
	list    []difference
}

// compare adds the differences of a value: as stated, as far as the ledger owns it, and as it is. A nil is no value, as
// for the API server.
func (c *comparison) compare(path string, stated, owned, live any) {
	switch stated := stated.(type) {
	case nil:
		return
	case map[string]any:
		mine, isMap := owned.(map[string]any)
		is, liveMap := live.(map[string]any)
		if !isMap && !liveMap || len(stated) == 0 && !isMap {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(stated)) {
			c.compare(joinPath(path, name), stated[name], mine[name], is[name])
		}
		return
	case []any:
		if c.compareLists(path, stated, owned, live) {
			return
		}
	default:
		if equalJSON(stated, owned) || c.lenient && sameQuantity(stated, owned) {
			return
		}
	}
	c.list = append(c.list, difference{path: path, wanted: stated, found: live})
}

// compareLists compares lists, by names if all items have one. False: it can't be said item by item.
func (c *comparison) compareLists(path string, stated []any, owned, live any) bool {
	mine, _ := owned.([]any)
	is, _ := live.([]any)
	names, named := namesOf(stated)
	if _, sameNames := namesOf(is); !named || !sameNames || len(is) == 0 {
		if len(mine) != len(stated) || len(is) < len(mine) {
			return len(stated) == 0 && len(mine) == 0 && owned != nil
		}
		for i := range stated {
			c.compare(fmt.Sprintf("%s[%d]", path, i), stated[i], mine[i], is[i])
		}
		return true
	}
	for i, name := range names {
		c.compare(fmt.Sprintf("%s[name=%s]", path, name), stated[i], byName(mine, name), byName(is, name))
	}
	for _, item := range mine {
		name, _ := item.(map[string]any)["name"].(string)
		if !slices.Contains(names, name) {
			c.list = append(c.list, difference{path: fmt.Sprintf("%s[name=%s]", path, name), found: item, surplus: true})
		}
	}
	return true
}

func namesOf(list []any) (names []string, all bool) {
	for _, item := range list {
		object, _ := item.(map[string]any)
		name, named := object["name"].(string)
		if !named || slices.Contains(names, name) {
			return nil, false
		}
		names = append(names, name)
	}
	return names, true
}

func byName(list []any, name string) any {
	for _, item := range list {
		if object, isMap := item.(map[string]any); isMap && object["name"] == name {
			return item
		}
	}
	return nil
}

// sameQuantity tells whether two texts or numbers mean the same amount, e.g. "0.5" and "500m".
func sameQuantity(a, b any) bool {
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	y, err2 := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && err2 == nil && x.Cmp(y) == 0
}

func joinPath(path, name string) string {
	if strings.ContainsAny(name, "./") {
		return fmt.Sprintf("%s[%s]", path, name)
	}
	return strings.TrimPrefix(path+"."+name, ".")
}

// describeDifferences says a few differences; without values for what is secret.
func describeDifferences(list []difference, secret bool) string {
	const few = 5
	var words []string
	for _, d := range list[:min(few, len(list))] {
		switch {
		case secret:
			words = append(words, d.path+" differs")
		case d.surplus:
			words = append(words, fmt.Sprintf("%s was added: %s", d.path, shortJSON(d.found)))
		case d.found == nil:
			words = append(words, fmt.Sprintf("%s: wanted %s, found nothing", d.path, shortJSON(d.wanted)))
		case equalJSON(d.wanted, d.found):
			words = append(words, fmt.Sprintf("%s is %s as wanted, but another field manager owns it", d.path,
				shortJSON(d.found)))
		default:
			words = append(words, fmt.Sprintf("%s: wanted %s, found %s", d.path, shortJSON(d.wanted), shortJSON(d.found)))
		}
	}
	text := strings.Join(words, "; ")
	if more := len(list) - few; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// shortJSON is a value as JSON, of at most 80 bytes.
func shortJSON(v any) string {
	const most = 80
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return cmp.Or(string(text[:min(most, len(text))])+map[bool]string{true: "..."}[len(text) > most], "?")
}

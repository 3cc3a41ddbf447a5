package standalone

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
)

// translation is a Gateway's configuration for printing: its name, and its proxies' resources by type and name.
type translation struct {
	gateway string
	fields  map[string]any
}

// Translate prints the configuration of the proxies of the Gateway ("namespace/name", "" is all) that a folder means,
// as "yaml" or "json". Private keys are left out. The same folder prints the same bytes.
func Translate(_ context.Context, o Options, gateway, format string, out io.Writer) error {
	w, folder, err := loadFolder(o)
	if err != nil {
		return err
	}
	if err := requireObjects(o, w, folder); err != nil {
		return err
	}
	list, err := translateAll(w, gateway)
	if err != nil {
		return err
	}
	for i, t := range list {
		b, err := json.Marshal(t.fields)
		if err == nil && format == "yaml" {
			b, err = yaml.JSONToYAML(b)
		} else if err == nil {
			var indented bytes.Buffer
			err = json.Indent(&indented, b, "", "  ")
			b = append(indented.Bytes(), '\n')
		}
		if err != nil {
			return fmt.Errorf("print %s: %w", t.gateway, err)
		}
		if i > 0 && format == "yaml" {
			b = append([]byte("---\n"), b...)
		}
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// ListGateways lists the ListGateways that can be given to Translate, by name ("namespace/name").
func ListGateways(_ context.Context, o Options) (names []string, err error) {
	w, _, err := loadFolder(o)
	if err != nil {
		return nil, err
	}
	w.Graph.View(func(v flow.View) {
		for ref := range flow.All(v, w.Plan.Gateways) {
			names = append(names, nodeID(ref))
		}
	})
	slices.Sort(names)
	return names, nil
}

// translateAll are the translations of the served ListGateways, by name.
func translateAll(w *world.World, gateway string) ([]translation, error) {
	byGateway := map[model.ObjectRef]map[resource.Key]resource.Resource{}
	dialects := map[model.ObjectRef]dataplane.Dialect{}
	w.Graph.View(func(v flow.View) {
		for ref, g := range flow.All(v, w.Plan.Gateways) {
			byGateway[ref], dialects[ref] = map[resource.Key]resource.Resource{}, w.Dialect(g.DataPlane)
		}
		for _, c := range w.Outputs.Resources {
			for key, r := range flow.All(v, c) {
				if of, served := byGateway[key.Gateway]; served {
					of[key] = r
				}
			}
		}
	})
	var list []translation
	for _, ref := range slices.SortedFunc(maps.Keys(byGateway), model.ObjectRef.Compare) {
		if name := ref.NamespacedName(); gateway == "" || gateway == name {
			t, err := translateGateway(name, dialects[ref], byGateway[ref])
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	if len(list) == 0 && gateway != "" {
		return nil,
			fmt.Errorf("Gateway %s is not served: it does not exist, is invalid, or its class belongs to another controller; "+
				"see `cardea check`", gateway)
	}
	return list, nil
}

func translateGateway(
	gateway string, d dataplane.Dialect, resources map[resource.Key]resource.Resource,
) (translation, error) {
	types := d.Protocol.Types
	t := translation{gateway, map[string]any{"gateway": gateway}}
	lists := make([][]json.RawMessage, len(types))
	keys := slices.SortedFunc(maps.Keys(resources), func(a, b resource.Key) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
	})
	for _, key := range keys {
		b, err := d.Describe(key.Type, resources[key])
		if err != nil {
			return t, fmt.Errorf("%s %s of Gateway %s: %w", types.Name(key.Type), key.Name, gateway, err)
		}
		lists[key.Type] = append(lists[key.Type], b)
	}
	for i, spec := range types {
		switch {
		case lists[i] != nil:
			t.fields[spec.List] = lists[i]
		case spec.Role != resource.Entries:
			t.fields[spec.List] = []json.RawMessage{}
		}
	}
	return t, nil
}

// Package scope finds what belongs to a Gateway among the objects of a ledger: the routes and ListenerSets that
// attach to it, the backends and other objects that those name, and the policies that target any of them.
//
// It reads references as they are written down, by the names of their fields (parentRefs, backendRefs, targetRefs,
// ...), so that kinds of strangers count, too. Secrets and Namespaces belong to nobody here: they don't go back with a
// Gateway. Nor do GatewayClasses and ReferenceGrants, which others decide about.
//
// It must never know databases or schemas; all of it is a pure function but for reading the ledger. Start reading at
// Draft.
package scope

import (
	"context"
	"maps"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// Members are what belongs to a Gateway.
type Members struct {
	Own    []ledger.Key // of this Gateway only, itself included
	Shared []ledger.Key // that belong to other Gateways, too
}

// MembersOf finds what belongs to Gateways, as they were after change at and as they are now, together.
func MembersOf(ctx context.Context, r ledger.Reader, gateways []ledger.Key, at int64) (Members, error) {
	var worlds []*objectGraph
	for _, n := range []int64{at, 0} {
		w, err := readGraph(ctx, r, gateways[0].Target, n)
		if err != nil {
			return Members{}, err
		}
		worlds = append(worlds, w)
	}
	return collectMembers(worlds, gateways), nil
}

// collectMembers are what belongs to Gateways in any of some worlds.
func collectMembers(worlds []*objectGraph, gateways []ledger.Key) (m Members) {
	own, others := keySet{}, keySet{}
	for _, w := range worlds {
		maps.Copy(own, w.reachFrom(gateways))
		var rest []ledger.Key
		for k := range w.objects {
			if isGateway(k) && !slices.Contains(gateways, k) {
				rest = append(rest, k)
			}
		}
		maps.Copy(others, w.reachFrom(rest))
	}
	for k := range own {
		if _, shared := others[k]; shared {
			m.Shared = append(m.Shared, k)
		} else {
			m.Own = append(m.Own, k)
		}
	}
	slices.SortFunc(m.Own, ledger.Key.Compare)
	slices.SortFunc(m.Shared, ledger.Key.Compare)
	return m
}

type keySet map[ledger.Key]struct{}

const gatewayGroup = "gateway.networking.k8s.io"

func isGateway(k ledger.Key) bool { return k.Kind == "Gateway" && k.Group == gatewayGroup }

// objectGraph is all objects of a target at one time.
type objectGraph struct {
	objects          map[ledger.Key]objectLinks
	children         map[ledger.Key][]ledger.Key // by what they name in parentRefs or targetRefs, or own by a label
	selectorPolicies []ledger.Key                // with targetSelectors
}

// objectLinks has the parts of an object that links between objects depend on.
type objectLinks struct {
	references []ledger.Key // in references that lead down
	labels     map[string]string
	selectors  []selector
}

// selector is an entry of targetSelectors.
type selector struct {
	group, kind string
	labels      map[string]any
}

// readGraph reads a target's objects as they were after a change; 0: as they are now.
func readGraph(ctx context.Context, r ledger.Reader, target string, at int64) (*objectGraph, error) {
	w := &objectGraph{objects: map[ledger.Key]objectLinks{}, children: map[ledger.Key][]ledger.Key{}}
	q := ledger.ObjectsQuery{Target: target, At: at, Limit: 1000, Contents: true}
	for more := true; more; {
		page, err := r.Objects(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, o := range page.Objects {
			q.After = &o.Key
			if o.Forgotten || !isRestorable(o.Key) {
				continue
			}
			content, err := o.Content.DecodeObject()
			if err != nil {
				return nil, err
			}
			w.addObject(o.Key, content)
		}
		more, q.At = page.More, page.At
	}
	return w, nil
}

func isRestorable(k ledger.Key) bool {
	return !k.IsSecret() && k.Kind != "Namespace" && k.Kind != "GatewayClass" && k.Kind != "ReferenceGrant"
}

func (w *objectGraph) addObject(k ledger.Key, content map[string]any) {
	o := objectLinks{labels: map[string]string{}}
	meta, _ := content["metadata"].(map[string]any)
	labels, _ := meta["labels"].(map[string]any)
	for name, value := range labels {
		o.labels[name], _ = value.(string)
	}
	if service := o.labels["kubernetes.io/service-name"]; k.Kind == "EndpointSlice" && service != "" {
		owner := ledger.Key{Target: k.Target, Kind: "Service", Namespace: k.Namespace, Name: service}
		w.children[owner] = append(w.children[owner], k)
	}
	walkRefs(content["spec"], func(field string, ref map[string]any) {
		switch field {
		case "parentRefs", "parentRef", "targetRefs", "targetRef":
			to := refOf(k, field, ref)
			w.children[to] = append(w.children[to], k)
		case "targetSelectors":
			group, _ := ref["group"].(string)
			kind, _ := ref["kind"].(string)
			match, _ := ref["matchLabels"].(map[string]any)
			o.selectors = append(o.selectors, selector{group, kind, match})
		default:
			o.references = append(o.references, refOf(k, field, ref))
		}
	})
	if len(o.selectors) > 0 {
		w.selectorPolicies = append(w.selectorPolicies, k)
	}
	w.objects[k] = o
}

// walkRefs calls found with each map in a field that is named ...Ref, ...Refs or targetSelectors, at any depth.
func walkRefs(value any, found func(field string, ref map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		for field, inner := range v {
			if strings.HasSuffix(field, "Ref") || strings.HasSuffix(field, "Refs") || field == "targetSelectors" {
				list, isList := inner.([]any)
				if !isList {
					list = []any{inner}
				}
				for _, entry := range list {
					if ref, is := entry.(map[string]any); is {
						found(field, ref)
					}
				}
			}
			walkRefs(inner, found)
		}
	case []any:
		for _, inner := range v {
			walkRefs(inner, found)
		}
	}
}

// refOf is what a reference names. Kinds that it does not state are those that the Gateway API has for the field.
func refOf(from ledger.Key, field string, ref map[string]any) ledger.Key {
	to := ledger.Key{Target: from.Target, Namespace: from.Namespace}
	to.Kind = map[string]string{"parentRefs": "Gateway", "parentRef": "Gateway", "certificateRefs": "Secret",
		"caCertificateRefs": "ConfigMap"}[field]
	if to.Kind == "" {
		to.Kind = "Service"
	}
	if to.Kind == "Gateway" {
		to.Group = gatewayGroup
	}
	text := func(into *string, name string) {
		if value, is := ref[name].(string); is {
			*into = value
		}
	}
	text(&to.Group, "group")
	text(&to.Kind, "kind")
	text(&to.Namespace, "namespace")
	text(&to.Name, "name")
	return to
}

// reachFrom is what can be reached from Gateways, themselves included.
func (w *objectGraph) reachFrom(from []ledger.Key) keySet {
	found, next := keySet{}, slices.Clone(from)
	for len(next) > 0 {
		k := next[len(next)-1]
		next = next[:len(next)-1]
		o, there := w.objects[k]
		if _, seen := found[k]; seen || !there {
			continue
		}
		found[k] = struct{}{}
		next = append(next, o.references...)
		next = append(next, w.children[k]...)
		for _, policy := range w.selectorPolicies {
			if w.objects[policy].selectsObject(policy, k, o) {
				next = append(next, policy)
			}
		}
	}
	return found
}

// selectsObject tells whether a policy's targetSelectors choose an object.
func (o objectLinks) selectsObject(policy, k ledger.Key, other objectLinks) bool {
	return policy.Namespace == k.Namespace && slices.ContainsFunc(o.selectors, func(s selector) bool {
		if s.group != k.Group || s.kind != k.Kind || len(s.labels) == 0 {
			return false
		}
		for name, value := range s.labels {
			if value, is := value.(string); !is || other.labels[name] != value {
				return false
			}
		}
		return true
	})
}

package ledger

import (
	"cmp"
	"strings"
)

// DefaultTarget is the target of objects that name none. Each ledger has it from the start.
const DefaultTarget = "default"

// Key names an object of a target.
type Key struct {
	Target    string `json:"target"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // "": the kind has no namespaces
	Name      string `json:"name"`
}

// String is how messages call the object, e.g. "HTTPRoute shop/web". A target is named unless it is the default one.
func (k Key) String() string {
	name := strings.TrimPrefix(k.Namespace+"/"+k.Name, "/")
	if k.Target != "" && k.Target != DefaultTarget {
		return k.Kind + " " + name + " of target " + k.Target
	}
	return k.Kind + " " + name
}

// kindName is how grants name the object's kind.
func (k Key) kindName() string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// Compare orders keys as lists show them: by target, namespace, kind and name.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Target, o.Target), cmp.Compare(k.Namespace, o.Namespace), cmp.Compare(k.Kind, o.Kind),
		cmp.Compare(k.Group, o.Group), cmp.Compare(k.Name, o.Name))
}

// ApplyRank says what has to be in a cluster first: what others refer to before those. Within one change, objects of a
// lower rank are applied before those of a higher one, and deleted after them.
func (k Key) ApplyRank() int {
	switch {
	case k.Kind == "Namespace" && k.Group == "":
		return 0
	case k.Kind == "CustomResourceDefinition":
		return 10
	case k.Kind == "ServiceAccount" || k.Kind == "Secret" || k.Kind == "ConfigMap":
		return 20
	case k.Kind == "Service" || k.Kind == "ReferenceGrant" || strings.HasSuffix(k.Group, "rbac.authorization.k8s.io"):
		return 30
	case k.Kind == "GatewayClass":
		return 40
	case strings.HasSuffix(k.Kind, "Route"):
		return 80
	case k.Kind == "Gateway" || k.Kind == "ListenerSet":
		return 60
	case strings.HasSuffix(k.Kind, "Policy"):
		return 70
	}
	return 50
}

// IsSecret tells whether an object's content must be sealed.
func (k Key) IsSecret() bool { return k.Kind == "Secret" && k.Group == "" }

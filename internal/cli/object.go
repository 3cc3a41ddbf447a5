package cli

import "cardea.dev/cardea/internal/kind"

// object is a Kubernetes object, or a part of one, as JSON tells it.
type object = kind.Shown

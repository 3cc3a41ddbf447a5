package cli

import "cardea.dev/cardea/internal/core/kind"

// object is a Kubernetes object, or a part of one, decoded from JSON.
type object = kind.JSONObject

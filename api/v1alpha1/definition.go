package v1alpha1

import _ "embed"

// DataPlaneDefinition is the CustomResourceDefinition of DataPlane, in YAML.
//
//go:embed cardea.dev_dataplanes.yaml
var DataPlaneDefinition []byte

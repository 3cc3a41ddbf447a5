package model

// DataPlane is a kind of data plane, in the words of DataPlane.spec.proxy: what proxies are, and how they get their
// configuration. Every Gateway has one, and all that is served for a Gateway names it, so that each dialect renders
// what is its own.
type DataPlane string

// The data planes. A Gateway has DataPlaneEnvoy if its parameters name none.
const (
	DataPlaneEnvoy          DataPlane = "Envoy"          // Envoy, fed over xDS
	DataPlaneEnvoyConfigMap DataPlane = "EnvoyConfigMap" // Envoy, which reads the files of a ConfigMap
)

// ReadsFiles tells whether its proxies read files by themselves, and acknowledge nothing. Others are fed by a server.
func (d DataPlane) ReadsFiles() bool { return d == DataPlaneEnvoyConfigMap }

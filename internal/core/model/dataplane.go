package model

// DataPlane is a kind of data plane: what proxies are, and how they get their configuration. Its dialect declares it.
// Every Gateway has one, and all that is served for a Gateway names it, so that each dialect renders what is its own.
type DataPlane struct {
	Name string // in the words of DataPlane.spec.proxy
	// ReadsFiles: its proxies read files by themselves, and acknowledge nothing. Others are fed by a server.
	ReadsFiles bool
}

// String is its name.
func (d DataPlane) String() string { return d.Name }

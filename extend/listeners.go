package extend

// Listeners is about a feature that is AtListener.
type Listeners struct {
	// PortFields are those of its fields that are as if they were AtPort. Read is asked for them and for the others apart.
	PortFields []string
	// TLSOnly: it has no effect on listeners without TLS. An inherited value does not hold there; a value that is stated
	// for such a listener is refused.
	TLSOnly bool
}

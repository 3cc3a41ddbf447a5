package model

// Filters are what a rule, or a reference to a backend, does besides sending a request on. The zero Filters do nothing.
type Filters struct {
	// Redirect answers without a backend.
	Redirect        *Redirect
	RequestHeaders  *HeaderModifier
	ResponseHeaders *HeaderModifier
	Rewrite         *Rewrite
	Mirrors         []Mirror
	CORS            *CORS
	Auth            *ExternalAuth
}

// listBackends lists the backends that the filters send requests to.
func (f Filters) listBackends() []BackendKey {
	var list []BackendKey
	for _, m := range f.Mirrors {
		list = append(list, m.Backend)
	}
	if f.Auth != nil {
		list = append(list, f.Auth.Backend)
	}
	return list
}

// Mirror sends copies of requests to a backend, and drops the answers. Numerator of Denominator requests are copied.
type Mirror struct {
	Backend                BackendKey
	External               bool  // see WeightedBackend
	Numerator, Denominator int32 // Denominator is at least 1, Numerator at most Denominator
}

// HeaderModifier changes headers; names are unique over all three lists, without regard to case, and never Host.
type HeaderModifier struct {
	Set    []Header // replace
	Add    []Header // append
	Remove []string
}

// Header is a header's name and value.
type Header struct{ Name, Value string }

// LoopHeader is the header by which hops through hostnames are counted (RFC 8586): nobody else changes it.
const LoopHeader = "cdn-loop"

// LoopToken is what each hop adds to it, and MaxHops how many a request may have.
const (
	LoopToken = "cardea"
	MaxHops   = 5
)

// FramingHeaders are headers by which a message is told from the next one, or that are about one connection (RFC 9110,
// 7.6.1; RFC 9112, 6): who could set them could have a part of a body taken for a message. No route and no
// authorization server may.
var FramingHeaders = []string{"connection", "content-length", "keep-alive", "proxy-connection", "transfer-encoding",
	"upgrade"}

// PathRewrite replaces a path: all of it, or the prefix that matched (by path elements).
type PathRewrite struct {
	Prefix bool // else the full path
	Value  string
}

// Rewrite changes what the backend sees.
type Rewrite struct {
	Hostname string // "": as it was sent
	Path     *PathRewrite
}

// Redirect answers with a Location. Empty fields keep what the request had; Port 0 means the scheme's well-known port
// if Scheme is set, else the listener's port (HTTPRequestRedirectFilter.port).
type Redirect struct {
	Scheme     string
	Hostname   string
	Port       int32
	Path       *PathRewrite
	StatusCode int
}

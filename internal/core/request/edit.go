package request

import "net/http"

// HeaderChange is one change of headers.
type HeaderChange struct {
	Action HeaderAction `json:"do"`
	Name   string       `json:"name"`
	Value  string       `json:"value,omitempty"`
}

// HeaderAction is what an HeaderChange does.
type HeaderAction string

// The things that an HeaderChange can do.
const (
	Remove  HeaderAction = "remove"
	Set     HeaderAction = "set"              // replace, or add
	Append  HeaderAction = "append"           // one more value
	Replace HeaderAction = "replace"          // if it is there
	Default HeaderAction = "set if it is not" // there
)

// ApplyTo changes headers.
func (e HeaderChange) ApplyTo(h http.Header) {
	_, found := h[http.CanonicalHeaderKey(e.Name)]
	switch e.Action {
	case Remove:
		h.Del(e.Name)
	case Append:
		h.Add(e.Name, e.Value)
	case Set:
		h.Set(e.Name, e.Value)
	case Replace:
		if found {
			h.Set(e.Name, e.Value)
		}
	case Default:
		if !found {
			h.Set(e.Name, e.Value)
		}
	}
}

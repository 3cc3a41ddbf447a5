package request

import "net/http"

// Edit is one change of headers.
type Edit struct {
	Do    Do     `json:"do"`
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Do is what an Edit does.
type Do string

// The things that an Edit can do.
const (
	Remove  Do = "remove"
	Set     Do = "set"              // replace, or add
	Append  Do = "append"           // one more value
	Replace Do = "replace"          // if it is there
	Default Do = "set if it is not" // there
)

// Apply changes headers.
func (e Edit) Apply(h http.Header) {
	_, found := h[http.CanonicalHeaderKey(e.Name)]
	switch e.Do {
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

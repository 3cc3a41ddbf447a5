package extend

import "encoding/json"

// Identity is about a feature of requests that tells who sent one, or asks for that.
type Identity[S, V any] struct {
	// Sets are the headers in which a value of a feature that is AtRule tells who sent a request, or what was found out
	// about it; nil: none.
	Sets func(v V) IdentityHeaders
	// Reads are the headers of requests that a value depends on before anybody is authenticated, in small letters
	// (AnyHeader: any of them); nil: none. Where one of them is of IdentityHeaders, the value is read for each rule.
	Reads func(v V) []string
	// Identified are the fields of a spec that are about who sent a request, which a SecurityPolicy finds out; nil: none.
	Identified func(s S) []IdentityField
}

// UntypedIdentity is an Identity without its types; Sets and Reads are of the Value.
type UntypedIdentity struct {
	ReadsHeaders bool // it has Reads
	Identified   func(spec []byte) []IdentityField
}

func (i Identity[S, V]) toUntyped() UntypedIdentity {
	u := UntypedIdentity{ReadsHeaders: i.Reads != nil}
	if i.Identified != nil {
		u.Identified = func(spec []byte) []IdentityField {
			var s S
			if json.Unmarshal(spec, &s) != nil {
				return nil // who reads it says so
			}
			return i.Identified(s)
		}
	}
	return u
}

package rest

import (
	"reflect"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// TestExpected: the advice about an unknown member names those of the object that it is in, also in an array that is
// the whole body; without a schema there is none.
func TestExpected(t *testing.T) {
	schemas := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	type inner struct {
		Deep string `json:"deep"`
	}
	type outer struct {
		Inner []inner `json:"inner"`
		Flat  string  `json:"flat"`
	}
	one, all := reflect.TypeFor[outer](), reflect.TypeFor[[]outer]()
	for _, c := range []struct {
		schema         *huma.Schema
		location, want string
	}{
		{schemas.Schema(one, true, ""), "body.x", "state one of flat, inner in place of x"},
		{schemas.Schema(one, true, ""), "body.inner[1].x", "state one of deep in place of x"},
		{schemas.Schema(all, true, ""), "body[0].x", "state one of flat, inner in place of x"},
		{schemas.Schema(all, true, ""), "body[0].inner[1].x", "state one of deep in place of x"},
		{schemas.Schema(one, true, ""), "body.none.x", ""},
		{nil, "body.x", ""},
		{nil, "body[0].x", ""},
	} {
		op := &huma.Operation{RequestBody: &huma.RequestBody{Content: map[string]*huma.MediaType{
			"application/json": {Schema: c.schema}}}}
		wrong := &huma.ErrorDetail{Location: c.location, Message: validation.MsgUnexpectedProperty}
		if got := suggestNames(schemas, op, wrong); got != c.want {
			t.Errorf("%s: %q, want %q", c.location, got, c.want)
		}
	}
}

package extend

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/model"
)

// HeaderEdits change headers. A name stands in one of the lists.
//
// +kubebuilder:validation:MinProperties=1
type HeaderEdits struct {
	// Set gives a header one value, in place of those that it has.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Set []HeaderEdit `json:"set,omitempty"`
	// Add gives a header a value beside those that it has.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Add []HeaderEdit `json:"add,omitempty"`
	// AddIfAbsent gives a header a value if it has none.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	AddIfAbsent []HeaderEdit `json:"addIfAbsent,omitempty"`
	// Remove takes headers away.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Remove []string `json:"remove,omitempty"`
}

// HeaderEdit is a header's name, and its value in one of three ways.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=2
// +kubebuilder:validation:MaxProperties=2
type HeaderEdit struct {
	// Name of the header, in any case.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name"`
	// Value is the value as it stands here.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Value *string `json:"value,omitempty"`
	// SecretRef names a Secret, of which the entry "value" is the value.
	// +optional
	SecretRef *gatewayv1.SecretObjectReference `json:"secretRef,omitempty"`
	// Format is a value with commands: %REQ(x-request-id)%, %DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT% or
	// %CEL(request.method)%. %% is a percent sign.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Format *string `json:"format,omitempty"`
}

// HeaderAction is what a HeaderChange does.
type HeaderAction string

// The things that a HeaderChange can do.
const (
	SetHeader    HeaderAction = "set"
	AddHeader    HeaderAction = "add"
	AddIfAbsent  HeaderAction = "addIfAbsent"
	RemoveHeader HeaderAction = "remove"
)

// HeaderChange is one of HeaderEdits, with what its reference leads to.
type HeaderChange struct {
	Action HeaderAction
	Name   string // in small letters
	Format string // as CheckFormat takes it; "" if it is Secret
	Secret Bytes  // a value that must not be shown
}

// ReadHeaders makes changes of edits, which stand in a field: removals first, then set, add and addIfAbsent. Mistakes
// are told to the Reader and left out.
func ReadHeaders(r Reader, field string, edits HeaderEdits) []HeaderChange {
	problems := ValidateHeaders(edits)
	Refuse(r, field, problems)
	var changes []HeaderChange
	wrong := func(place string) bool {
		return slices.ContainsFunc(problems, func(p Problem) bool {
			return p.Field == place || strings.HasPrefix(p.Field, place+".")
		})
	}
	for _, name := range edits.Remove {
		if !wrong(entryField(RemoveHeader, name)) {
			changes = append(changes, HeaderChange{Action: RemoveHeader, Name: strings.ToLower(name)})
		}
	}
	for _, l := range edits.editLists() {
		for _, e := range l.edits {
			place := entryField(l.action, e.Name)
			if wrong(place) {
				continue
			}
			if change, ok := e.readEdit(r.Field(joinField(field, place)), l.action); ok {
				changes = append(changes, change)
			}
		}
	}
	return changes
}

type headerList struct {
	action HeaderAction
	edits  []HeaderEdit
}

func (e HeaderEdits) editLists() []headerList {
	return []headerList{{SetHeader, e.Set}, {AddHeader, e.Add}, {AddIfAbsent, e.AddIfAbsent}}
}

// entryField is the field of an entry of a list.
func entryField(action HeaderAction, name string) string { return fmt.Sprintf("%s[%s]", action, name) }

func (e HeaderEdit) readEdit(r Reader, action HeaderAction) (c HeaderChange, ok bool) {
	c = HeaderChange{Action: action, Name: strings.ToLower(e.Name)}
	switch {
	case e.Value != nil:
		c.Format = Literal(*e.Value)
	case e.Format != nil:
		c.Format = *e.Format
	default:
		r = r.Field("secretRef")
		data, found := r.Secret(*e.SecretRef)
		if !found {
			return c, false
		}
		value, found := data["value"]
		text := strings.TrimRight(string(value), "\r\n")
		if !found || text == "" || !isHeaderValue(text) {
			r.Refuse(fmt.Sprintf("Secret %s has no entry \"value\" that can be a header: one line of text",
				e.SecretRef.Name))
			return c, false
		}
		c.Secret = Bytes(text)
	}
	return c, true
}

// Literal is a format (CheckFormat) for a text: it escapes what would be read as a command.
func Literal(value string) string { return strings.ReplaceAll(value, "%", "%%") }

// ValidateHeaders tells what of edits can't be served.
func ValidateHeaders(edits HeaderEdits) []Problem {
	return collectProblems(func(f problemList) {
		seen := map[string]bool{}
		name := func(f problemList, action HeaderAction, name string) {
			if wrong := headerName(action, strings.ToLower(name), seen[strings.ToLower(name)]); wrong != "" {
				f.addProblem("%s", wrong)
			}
			seen[strings.ToLower(name)] = true
		}
		for _, n := range edits.Remove {
			name(f.atField("%s", entryField(RemoveHeader, n)), RemoveHeader, n)
		}
		for _, l := range edits.editLists() {
			for _, e := range l.edits {
				f := f.atField("%s", entryField(l.action, e.Name))
				name(f, l.action, e.Name)
				checkEdit(f, e)
			}
		}
	})
}

// headerName says why a header can't be changed; "" if it can.
func headerName(action HeaderAction, name string, again bool) string {
	switch {
	case !isToken(name):
		return fmt.Sprintf("%q is not the name of a header", name)
	case again:
		return fmt.Sprintf("header %q is changed twice; state each name once", name)
	case name == "host":
		return "header \"host\" can't be changed here; use hostname of a URLRewrite filter in an HTTPRoute"
	case name == model.LoopHeader:
		return "header " + name + " can't be changed: it is used to detect loops of requests"
	case action != RemoveHeader && slices.Contains(model.FramingHeaders, name):
		return fmt.Sprintf("header %q can't be stated: it controls where a message ends, or how a connection is used", name)
	}
	return ""
}

func checkEdit(f problemList, e HeaderEdit) {
	stated := 0
	for _, is := range []bool{e.Value != nil, e.SecretRef != nil, e.Format != nil} {
		if is {
			stated++
		}
	}
	switch {
	case stated != 1:
		f.addProblem("%d of value, secretRef and format are stated; state one", stated)
	case e.Value != nil && !isHeaderValue(*e.Value):
		f.atField("value").addProblem("it has a line break or a NUL in it, which no header can have")
	case e.Format != nil && *e.Format == "":
		f.atField("format").addProblem("it is empty; use value for an empty header")
	case e.Format != nil:
		if err := CheckFormat(*e.Format); err != nil {
			f.atField("format").addProblem("%v", err)
		}
	}
}

func isHeaderValue(text string) bool { return !strings.ContainsAny(text, "\r\n\x00") }

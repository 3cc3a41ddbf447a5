// Package signing is the feature example.com/signing of a TrafficPolicy: requests get a signature, by which a backend
// knows that they came through the gateway.
package signing

import (
	_ "embed"
	"fmt"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

// In a repository of your own: go run cardea.dev/cardea/extend/schemagen@VERSION
//
//go:generate go run -C ../../../extend/schemagen . $PWD
var (
	//go:embed schema.json
	schema []byte
	//go:embed sign.lua
	script string
)

// Spec says how requests are signed.
type Spec struct {
	// Signatures are what requests get; those of several policies add up by name.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Signatures []Signature `json:"signatures"`
}

// Signature is the HMAC-SHA256, in hexadecimal digits, of the lines: method, path with query, covered headers.
type Signature struct {
	// Name tells signatures apart.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// SecretRef names a Secret, of which the entry "key" is the key.
	// +optional
	SecretRef *gatewayv1.SecretObjectReference `json:"secretRef,omitempty"`
	// Header has the signature; x-signature if nothing is stated. What clients send in it is taken off.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header string `json:"header,omitempty"`
	// Covers are headers whose values are signed, too; that of one that is missing is empty.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Covers []string `json:"covers,omitempty"`
}

// Value is the signatures as read.
type Value struct{ Signatures []Signed }

// Signed is a Signature with its key.
type Signed struct {
	Key    extend.Bytes
	From   string   // the Secret
	Header string   // in small letters
	Covers []string // in small letters
}

// Feature is the signing of requests.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.TrafficPolicy, Name: "example.com/signing", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Read: read, Renders: renders, Sets: sets, Judge: judge, Describe: words,
}

// sets are the headers of the signatures: what clients send in them is taken off.
func sets(v Value) (h extend.IdentityHeaders) {
	for _, s := range v.Signatures {
		h.Only = append(h.Only, s.Header)
	}
	return h
}

func read(r extend.Reader, s Spec) (v Value) {
	headers := map[string]string{}
	for _, one := range s.Signatures {
		at := r.Field(fmt.Sprintf("signatures[%s]", one.Name))
		signed, ok := readOne(at, one)
		if other := headers[signed.Header]; other != "" {
			at.Refuse(fmt.Sprintf("header %s has the signature %s, too; give each a header of its own", signed.Header, other))
			continue
		}
		if headers[signed.Header] = one.Name; ok {
			v.Signatures = append(v.Signatures, signed)
		}
	}
	return v
}

func readOne(r extend.Reader, s Signature) (signed Signed, ok bool) {
	signed = Signed{Header: strings.ToLower(s.Header), Covers: s.Covers}
	if signed.Header == "" {
		signed.Header = "x-signature"
	}
	if why := extend.CheckIdentityHeader(signed.Header); why != "" {
		r.Field("header").Refuse(why)
		return signed, false
	}
	if s.SecretRef == nil {
		r.Field("secretRef").Refuse("name the Secret of the key")
		return signed, false
	}
	signed.From = extend.SecretName(*s.SecretRef)
	data, found := r.Field("secretRef").Secret(*s.SecretRef)
	if !found {
		return signed, false
	}
	if signed.Key = data["key"]; len(signed.Key) == 0 {
		r.Field("secretRef").Refuse(fmt.Sprintf("Secret %s has no entry \"key\"", signed.From))
		return signed, false
	}
	return signed, true
}

func render(e envoy.Rule, v Value) {
	var code strings.Builder
	code.WriteString("local signatures = {\n")
	for _, s := range v.Signatures {
		fmt.Fprintf(&code, "  {key = %s, header = %s, covers = {", quote(string(s.Key)), quote(s.Header))
		for _, name := range s.Covers {
			code.WriteString(quote(strings.ToLower(name)) + ", ")
		}
		code.WriteString("}},\n")
	}
	code.WriteString("}\n" + script)
	// The code has keys in it: SecretFilter keeps it out of all that Cardea prints.
	e.Filter(extend.SlotCustom3, envoy.SecretFilter("example.com/signing"), &luav3.Lua{
		DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: code.String()}},
	})
}

// quote writes a text for Lua, each byte by its number: nothing in it ends the text.
func quote(text string) string {
	var quoted strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&quoted, `\%03d`, b)
	}
	return `"` + quoted.String() + `"`
}

// judge says what the backend gets and only the proxy knows.
func judge(_ extend.Request, v Value) (list []extend.Verdict) {
	for _, s := range v.Signatures {
		list = append(list, extend.Verdict{If: "header " + s.Header + " has the signature by Secret " + s.From})
	}
	return list
}

func words(v Value) (list []string) {
	for _, s := range v.Signatures {
		over := append([]string{"method", "path"}, s.Covers...)
		list = append(list, fmt.Sprintf("header %s: %s, signed by Secret %s", s.Header, strings.Join(over, ", "), s.From))
	}
	return list
}

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: render})

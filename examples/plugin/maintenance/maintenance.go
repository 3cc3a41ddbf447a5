// Package maintenance is a kind of policy of its own, MaintenancePolicy: what it targets answers 503 for a while.
package maintenance

import (
	_ "embed"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/extend/envoy"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Kind is the kind of policy. Targets, strategy, disable and status are the same for all kinds.
var Kind = extend.Kind{
	Group: "ops.example.com", Version: "v1alpha1", Name: "MaintenancePolicy", Plural: "maintenancepolicies",
	Short: []string{"mtp"}, Description: "MaintenancePolicy says what is closed for maintenance.", Features: extend.AtRule,
}

// Spec answers every request with 503.
type Spec struct {
	// RetryAfter is when clients should try again, in whole seconds at least; 1m if nothing is stated.
	// +optional
	RetryAfter *gatewayv1.Duration `json:"retryAfter,omitempty"`
	// Message is the body of the answer.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}

// Value is the answer.
type Value struct {
	RetryAfter time.Duration
	Message    string
}

// Feature is the only one of its kind.
var Feature = extend.Feature[Spec, Value]{
	Kind: "MaintenancePolicy.ops.example.com", Name: "closed", Schema: schema, Levels: extend.AtRule,
	OnInvalid: extend.Deny, Read: read, Renders: renders, Judge: judge, Describe: words,
}

func read(r extend.Reader, s Spec) Value {
	v := Value{RetryAfter: time.Minute, Message: s.Message}
	if s.RetryAfter == nil {
		return v
	}
	d, err := extend.Duration(*s.RetryAfter)
	if err == nil && d < time.Second {
		err = fmt.Errorf("%s is less than a second; write 1s or more", *s.RetryAfter)
	}
	if err != nil {
		r.Field("retryAfter").Refuse(err.Error())
		return v
	}
	v.RetryAfter = d
	return v
}

func render(e envoy.Rule, v Value) {
	code := fmt.Sprintf(`function envoy_on_request(handle)
  handle:respond({[":status"] = "503", ["retry-after"] = "%d"}, %s)
end
`, int(v.RetryAfter.Seconds()), quote(v.Message))
	e.Filter(extend.SlotCustom1, "ops.example.com/closed", &luav3.Lua{
		DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: code}},
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

func judge(extend.Request, Value) []extend.Verdict {
	return []extend.Verdict{{Status: http.StatusServiceUnavailable}}
}

func words(v Value) []string { return []string{"closed for maintenance"} }

// renders is how values are rendered for Envoy.
var renders = envoy.Render(envoy.Funcs[Value]{Rule: render})

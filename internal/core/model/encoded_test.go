package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestEncodedIsNotPrinted: no verb, no encoding and no log shows content; equal content prints alike.
func TestEncodedIsNotPrinted(t *testing.T) {
	type holds struct {
		One  Encoded
		Many Rope
		By   map[string]Encoded
	}
	const secret = "s3cret"
	for name, value := range map[string]any{
		"encoded": Encoded(secret), "rope": Rope{[]byte("s3c"), []byte("ret")}, "pointer": new(Encoded(secret)),
		"struct": holds{Encoded(secret), Rope{[]byte(secret)}, map[string]Encoded{"a": Encoded(secret)}},
		"list":   []Encoded{Encoded(secret)},
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out.Write(text)
		slog.New(slog.NewTextHandler(&out, nil)).Info("text", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "value", value)
		for _, form := range []string{secret, fmt.Sprintf("%x", secret), "115 51 99", "czNjcmV0"} {
			if strings.Contains(strings.ToLower(out.String()), strings.ToLower(form)) {
				t.Errorf("%s shows %s:\n%s", name, form, out.String())
			}
		}
	}
	if got := fmt.Sprint(Encoded(secret)); got != fmt.Sprint(Rope{[]byte("s3"), []byte("cret")}) ||
		!strings.HasPrefix(got, "6 bytes, ") || got == fmt.Sprint(Encoded("another")) {
		t.Errorf("%s", got)
	}
}

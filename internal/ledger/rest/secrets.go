package rest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"cardea.dev/cardea/internal/core/ledger"
)

// redactedValue is what stands in place of a Secret's value. It is no valid base64, so nobody takes it for data.
var redactedValue = regexp.MustCompile(`^sha256:[0-9a-f]{32}$`)

// redactSecret replaces the values of a Secret by digests. They are keyed with a key of this process, and with the
// object and the name of the value: they tell whether a value changed between two generations, and nothing else. They
// do not tell what a short value is, nor that two Secrets have the same. With of, they can be compared only with others
// of the same.
func (s *server) redactSecret(o ledger.Object, of ...string) ledger.Object {
	if o.Unopened != "" {
		o.Unopened = noKey // where it would be is for its administrators
	}
	return o.MaskSecret(func(field, name string, value any) string { return s.digestValue(o.Key, of, field, name, value) })
}

func (s *server) digestValue(k ledger.Key, of []string, field, name string, value any) string {
	text, err := json.Marshal([]any{k, strings.Join(of, ""), field, name, value})
	if err != nil {
		text = nil
	}
	mac := hmac.New(sha256.New, s.redactionKey[:])
	mac.Write(text)
	return "sha256:" + hex.EncodeToString(mac.Sum(nil)[:16])
}

// RefuseRedacted refuses a Secret that has digests in place of values: somebody read it and sent back what was shown.
func RefuseRedacted(k ledger.Key, c ledger.Content) error {
	if !k.IsSecret() || len(c) == 0 {
		return nil
	}
	object, err := c.DecodeObject()
	if err != nil {
		return &ledger.Error{Code: ledger.Invalid, Object: k.String(), Message: "is not an object"}
	}
	for _, field := range []string{"data", "stringData"} {
		values, _ := object[field].(map[string]any)
		names := make([]string, 0, len(values))
		for name := range values {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if text, ok := values[name].(string); ok && redactedValue.MatchString(text) {
				return &ledger.Error{Code: ledger.Invalid, Object: k.String(), Field: field + "." + name,
					Message: "is the digest that the ledger shows in place of a secret value",
					Fix:     "state the value, or PATCH only what changes"}
			}
		}
	}
	return nil
}

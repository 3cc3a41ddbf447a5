package jwt

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Bounds of a key set, so that a hostile one fits into the configuration of proxies and into a status.
const (
	maxKeys       = 256  // that count
	maxKeyIDBytes = 1024 // bytes of a kid
	maxNamedKeys  = 4    // keys that a message names
)

// key is a public key of a key set, with those members that Envoy reads. Private ones are left out.
type key struct {
	Type      string `json:"kty"`
	ID        string `json:"kid,omitempty"`
	Algorithm string `json:"alg,omitempty"`
	Use       string `json:"use,omitempty"`
	N         string `json:"n,omitempty"`
	E         string `json:"e,omitempty"`
	Curve     string `json:"crv,omitempty"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
}

var (
	// errNoKeys says that a key set is empty: its provider has none at the moment.
	errNoKeys = errors.New("the key set has no keys")
	// errOtherUse says that a key is for something else, such as encryption.
	errOtherUse = errors.New("its use is not sig")
)

// parseKeys reads a key set, and writes it with those keys that Envoy can use. The others are ignored (RFC 7517,
// section 5); ignored, if not nil, names them, but for those that say that they are for something else. Messages have
// no values: a user who may state a URL may not be allowed to read what is there.
func parseKeys(text string) (usable string, ignored, err error) {
	set, is := membersOf([]byte(text))
	var list []json.RawMessage
	switch {
	case !is:
		return "", nil, errors.New("it is not a key set, which is a JSON object")
	case json.Unmarshal(set["keys"], &list) != nil || list == nil:
		return "", nil, errors.New(`it is not a key set: it has no list "keys"`)
	case len(list) == 0:
		return "", nil, errNoKeys
	}
	var keys []key
	var wrong []error
	for i, text := range list {
		k, err := readKey(text)
		if err == nil && len(keys) == maxKeys {
			err = fmt.Errorf("it is ignored: only the first %d keys are used", maxKeys)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("keys[%d]: %w", i, err))
			continue
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return "", nil, fmt.Errorf("it has no key that can be used: %w", joinErrors(wrong))
	}
	out, err := json.Marshal(map[string][]key{"keys": keys})
	return string(out), joinErrors(slices.DeleteFunc(wrong, func(w error) bool { return errors.Is(w, errOtherUse) })), err
}

// joinErrors joins the first of some errors; nil: there are none.
func joinErrors(all []error) error {
	var texts []string
	for _, err := range all[:min(len(all), maxNamedKeys)] {
		texts = append(texts, err.Error())
	}
	if more := len(all) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// membersOf are the members of a JSON object by their exact names. If a name is there twice, the last one counts.
func membersOf(text []byte) (members map[string]json.RawMessage, is bool) {
	return members, json.Unmarshal(text, &members) == nil && members != nil
}

// readKey reads a key, or tells why it can't be used.
func readKey(text []byte) (k key, err error) {
	members, is := membersOf(text)
	if !is {
		return k, errors.New("it is not a JSON object")
	}
	for _, m := range []struct {
		name string
		to   *string
	}{
		{"kty", &k.Type}, {"kid", &k.ID}, {"alg", &k.Algorithm}, {"use", &k.Use}, {"n", &k.N}, {"e", &k.E},
		{"crv", &k.Curve}, {"x", &k.X}, {"y", &k.Y},
	} {
		if value, stated := members[m.name]; stated && json.Unmarshal(value, m.to) != nil {
			return k, fmt.Errorf("%s is not a text", m.name)
		}
	}
	for _, number := range []*string{&k.N, &k.E, &k.X, &k.Y} {
		*number = base64.RawURLEncoding.EncodeToString(decodeBase64(*number)) // as Envoy reads it, too
	}
	return k, k.checkUsable()
}

// curves are those of EC keys, with the only algorithm of each.
var curves = map[string]struct {
	curve     ecdh.Curve
	algorithm string
	size      int
}{
	"P-256": {ecdh.P256(), "ES256", 32}, "P-384": {ecdh.P384(), "ES384", 48}, "P-521": {ecdh.P521(), "ES512", 66},
}

var rsaAlgorithms = []string{"", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}

// checkUsable tells why a key can't be used for signatures.
func (k key) checkUsable() error {
	if k.Use != "" && k.Use != "sig" {
		return errOtherUse
	}
	if len(k.ID) > maxKeyIDBytes {
		return fmt.Errorf("kid has more than %d bytes", maxKeyIDBytes)
	}
	switch k.Type {
	case "RSA":
		return k.checkRSA()
	case "EC":
		return k.checkEC()
	case "OKP":
		if k.Curve != "Ed25519" || k.Algorithm != "" && k.Algorithm != "EdDSA" || len(decodeBase64(k.X)) != 32 {
			return errors.New("it is not a key of Ed25519, with alg EdDSA or none")
		}
		return nil
	}
	return errors.New("kty is none of RSA, EC and OKP")
}

func (k key) checkRSA() error {
	n, e := new(big.Int).SetBytes(decodeBase64(k.N)), new(big.Int).SetBytes(decodeBase64(k.E))
	switch {
	case !slices.Contains(rsaAlgorithms, k.Algorithm):
		return errors.New("alg is not an RSA signature algorithm")
	case n.BitLen() < 1024 || n.BitLen() > 8192:
		return fmt.Errorf("n has %d bits, want 1024 to 8192", n.BitLen())
	case !e.IsInt64() || e.Int64() != 3 && e.Int64() != 65537: // Envoy refuses a provider with no other key
		return errors.New("e is neither 3 nor 65537")
	case n.Bit(0) == 0:
		return errors.New("n is even")
	}
	return nil
}

func (k key) checkEC() error {
	c, known := curves[k.Curve]
	if !known || k.Algorithm != "" && k.Algorithm != c.algorithm {
		return errors.New("crv and alg are not P-256 (ES256), P-384 (ES384) or P-521 (ES512)")
	}
	x, y := decodeBase64(k.X), decodeBase64(k.Y)
	if len(x) != c.size || len(y) != c.size {
		return fmt.Errorf("x and y have %d and %d bytes, want %d", len(x), len(y), c.size)
	}
	if _, err := c.curve.NewPublicKey(slices.Concat([]byte{4}, x, y)); err != nil {
		return errors.New("x and y are not a point on the curve")
	}
	return nil
}

// decodeBase64 is empty for what is not base64url.
func decodeBase64(text string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return b
}

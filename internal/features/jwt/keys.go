package jwt

import (
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
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

type keySet struct {
	Keys []key `json:"keys"`
}

// errNoKeys says that a key set is empty: its provider has none at the moment.
var errNoKeys = errors.New("the key set has no keys")

// parseKeys reads a key set, and writes it with those keys that Envoy can use: one that it can't would make it refuse
// all tokens' keys.
func parseKeys(text string) (string, error) {
	var all, usable keySet
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return "", fmt.Errorf("it is not a key set: %w", err)
	}
	if all.Keys == nil {
		return "", errors.New(`it is not a key set: it has no list "keys"`)
	}
	if len(all.Keys) == 0 {
		return "", errNoKeys
	}
	var wrong error
	for i, k := range all.Keys {
		if err := k.check(); err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("keys[%d]: %w", i, err))
			continue
		}
		usable.Keys = append(usable.Keys, k)
	}
	if len(usable.Keys) == 0 {
		return "", fmt.Errorf("it has no key that can be used: %w", wrong)
	}
	out, err := json.Marshal(usable)
	return string(out), err
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

// check tells why a key can't be used for signatures.
func (k key) check() error {
	if k.Use != "" && k.Use != "sig" {
		return fmt.Errorf("use is %q, want sig", k.Use)
	}
	switch k.Type {
	case "RSA":
		return k.checkRSA()
	case "EC":
		return k.checkEC()
	case "OKP":
		if k.Curve != "Ed25519" || k.Algorithm != "" && k.Algorithm != "EdDSA" || len(decoded(k.X)) != 32 {
			return errors.New("it is not a key of Ed25519, with alg EdDSA or none")
		}
		return nil
	}
	return fmt.Errorf("kty is %q, want RSA, EC or OKP", k.Type)
}

func (k key) checkRSA() error {
	n, e := new(big.Int).SetBytes(decoded(k.N)), new(big.Int).SetBytes(decoded(k.E))
	switch {
	case !slices.Contains(rsaAlgorithms, k.Algorithm):
		return fmt.Errorf("alg is %q, which is none of RSA", k.Algorithm)
	case n.BitLen() < 1024 || n.BitLen() > 8192:
		return fmt.Errorf("n has %d bits, want 1024 to 8192", n.BitLen())
	case e.BitLen() < 2 || e.BitLen() > 33 || e.Bit(0) == 0 || n.Bit(0) == 0:
		return errors.New("n or e is even, or of a size that no key has")
	}
	return nil
}

func (k key) checkEC() error {
	c, known := curves[k.Curve]
	if !known || k.Algorithm != "" && k.Algorithm != c.algorithm {
		return fmt.Errorf("crv is %q and alg %q, want P-256 (ES256), P-384 (ES384) or P-521 (ES512)", k.Curve, k.Algorithm)
	}
	x, y := decoded(k.X), decoded(k.Y)
	if len(x) != c.size || len(y) != c.size {
		return fmt.Errorf("x and y have %d and %d bytes, want %d", len(x), len(y), c.size)
	}
	_, err := c.curve.NewPublicKey(slices.Concat([]byte{4}, x, y))
	return err
}

// decoded is empty for what is not base64url.
func decoded(text string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return b
}

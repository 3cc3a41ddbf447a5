package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"
)

// login is an issuer's key set and a token of it, which is valid for a day: RS256 with 2048 bits, as most issuers use.
type login struct{ Keys, Token string }

func newLogin() (l login, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return l, err
	}
	text := base64.RawURLEncoding.EncodeToString
	l.Keys = fmt.Sprintf(`{"keys": [{"kty": "RSA", "alg": "RS256", "kid": "a", "n": %q, "e": "AQAB"}]}`,
		text(key.N.Bytes()))
	l.Token = text([]byte(`{"alg":"RS256","kid":"a","typ":"JWT"}`)) + "." + text(fmt.Appendf(nil,
		`{"iss":"https://issuer.example","aud":"shop","sub":"ann","role":"member","exp":%d}`,
		time.Now().Add(24*time.Hour).Unix()))
	sum := sha256.Sum256([]byte(l.Token))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	l.Token += "." + text(signature)
	return l, err
}

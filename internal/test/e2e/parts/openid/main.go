// Command openid is the OpenID provider of the tests: the example server of zitadel/oidc, a certified implementation,
// with keys that can be replaced and, as a proxy before it would have, an ETag of its key set.
//
//	openid ADDRESS
//
// The issuer is http://ADDRESS. POST /oauth/token gives the client sid1 (secret verysecret) tokens for the grant
// client_credentials. POST /rotate replaces the key; tokens that it signed are no longer good. GET /asked tells how
// often the key set was answered, by status.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// store is the example's, with its own key.
type store struct {
	*storage.Storage
	mu  sync.Mutex
	key *key
}

// key is a key pair. It is an op.SigningKey.
type key struct {
	id      string
	private *rsa.PrivateKey
}

func newKey() *key {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		log.Fatal(err)
	}
	return &key{fmt.Sprintf("%x", sha256.Sum256(private.N.Bytes()))[:16], private}
}

func (k *key) ID() string                                  { return k.id }
func (k *key) Key() any                                    { return k.private }
func (k *key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }

// public is the public half. It is an op.Key.
type public struct{ *key }

func (p public) Key() any                           { return &p.private.PublicKey }
func (p public) Use() string                        { return "sig" }
func (p public) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }

func (s *store) current() *key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}

func (s *store) SigningKey(context.Context) (op.SigningKey, error) { return s.current(), nil }
func (s *store) KeySet(context.Context) ([]op.Key, error)          { return []op.Key{public{s.current()}}, nil }

// client has tokens of which a proxy can check the signature.
type client struct{ op.Client }

func (client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

func (s *store) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	c, err := s.Storage.ClientCredentials(ctx, id, secret)
	return client{c}, err
}

// tagged gives answers ETags, and counts them by status.
type tagged struct {
	next  http.Handler
	mu    sync.Mutex
	asked map[int]int
}

func (t *tagged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	t.next.ServeHTTP(answer, r)
	etag, status := fmt.Sprintf(`"%x"`, sha256.Sum256(answer.Body.Bytes())), answer.Code
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.Header().Set("ETag", etag)
	if status == http.StatusOK && r.Header.Get("If-None-Match") == etag {
		status = http.StatusNotModified
	}
	t.mu.Lock()
	t.asked[status]++
	t.mu.Unlock()
	w.WriteHeader(status)
	if status != http.StatusNotModified {
		_, _ = bytes.NewReader(answer.Body.Bytes()).WriteTo(w)
	}
}

func (t *tagged) tell(w http.ResponseWriter, _ *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = json.NewEncoder(w).Encode(t.asked)
}

func main() {
	address := os.Args[1]
	issuer := "http://" + address
	s := &store{Storage: storage.NewStorage(storage.NewUserStore(issuer)), key: newKey()}
	provider := exampleop.SetupServer(issuer, s, slog.New(slog.DiscardHandler), false)
	keys := &tagged{next: provider, asked: map[int]int{}}
	mux := http.NewServeMux()
	mux.Handle("/", provider)
	mux.Handle("GET /keys", keys)
	mux.HandleFunc("GET /asked", keys.tell)
	mux.HandleFunc("POST /rotate", func(http.ResponseWriter, *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.key = newKey()
	})
	log.Fatal(http.ListenAndServe(address, mux))
}

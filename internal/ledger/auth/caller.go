package auth

import (
	"context"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// grantsTTL is how long grants are used before they are read again: so long may what another process changed take to
// count here.
const grantsTTL = time.Second

// maxTokenBytes is how many bytes a bearer token may have. ID tokens with many groups have a few thousand.
const maxTokenBytes = 64 << 10

// Access is what is asked of a ledger.
type Access interface {
	Token(ctx context.Context, hash string) (ledger.Token, error)
	Grants(ctx context.Context) ([]ledger.Grant, error)
}

// Reviewer asks Kubernetes who a token belongs to (TokenReview). false: nobody.
type Reviewer interface {
	Review(ctx context.Context, token string) (ledger.Caller, bool, error)
}

// Authorizer asks another authority whether a caller may do something that no grant lets it do (SubjectAccessReview).
type Authorizer interface {
	Authorize(ctx context.Context, c ledger.Caller, p ledger.Permission, k ledger.Key) (bool, error)
}

// Config is what callers are known by.
type Config struct {
	Access Access
	// Groups finds the known groups of a kind that a grant names without its group; nil: those of Kubernetes' own
	// kinds.
	Groups     func(kind string) []string
	OIDC       *OIDC      // nil: no ID tokens
	Reviewer   Reviewer   // nil: no tokens of Kubernetes
	Authorizer Authorizer // nil: grants decide alone
}

// Callers knows who asks.
type Callers struct {
	config Config
	oidc   *verifier

	mutex      sync.Mutex
	grants     []ledger.Grant
	grantsRead time.Time // when grants were; zero: they are to be read
}

// New makes Callers. It asks nobody yet: an issuer is asked when the first ID token comes.
func New(c Config) *Callers {
	if c.Groups == nil {
		c.Groups = KindGroups
	}
	callers := &Callers{config: c}
	if c.OIDC != nil {
		callers.oidc = newVerifier(*c.OIDC)
	}
	return callers
}

func unknownCaller(message, fix string) error {
	return &ledger.Error{Code: ledger.Unknown, Message: message, Fix: fix}
}

// IdentifyCaller identifies the sender of a request. The error is of code Unknown if that is nobody known, and
// Unavailable if who would know can't be asked.
func (c *Callers) IdentifyCaller(r *http.Request) (ledger.Caller, error) {
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		return ledger.Caller{}, unknownCaller("the request has no token",
			"send Authorization: Bearer TOKEN (--ledger-token-file)")
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	if token = strings.TrimSpace(token); len(header) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" ||
		len(token) > maxTokenBytes {
		return ledger.Caller{}, unknownCaller("the Authorization header has no bearer token",
			"send Authorization: Bearer TOKEN")
	}
	switch {
	case strings.HasPrefix(token, Prefix):
		return c.lookUpToken(r.Context(), token)
	case c.oidc != nil && c.oidc.claimsIssuer(token):
		return c.oidc.verifyToken(r.Context(), token)
	case c.config.Reviewer != nil:
		who, ok, err := c.config.Reviewer.Review(r.Context(), token)
		if err != nil {
			return ledger.Caller{}, &ledger.Error{Code: ledger.Unavailable, Cause: err,
				Message: "Kubernetes can't be asked about the token"}
		}
		if ok && who.Subject != "" && !who.All {
			return who, nil
		}
	}
	return ledger.Caller{}, unknownCaller("the token is not known here", "use a token of this ledger")
}

func (c *Callers) lookUpToken(ctx context.Context, token string) (ledger.Caller, error) {
	wrong := unknownCaller("the token is not known, or has expired", "ask an administrator for another one")
	if !wellFormed(token) {
		return ledger.Caller{}, wrong
	}
	hash := HashToken(token)
	t, err := c.config.Access.Token(ctx, hash)
	if ledger.CodeOf(err) == ledger.NotFound {
		return ledger.Caller{}, wrong
	}
	if err != nil {
		return ledger.Caller{}, err
	}
	if t.Hash != "" && subtle.ConstantTimeCompare([]byte(t.Hash), []byte(hash)) != 1 {
		return ledger.Caller{}, wrong
	}
	return ledger.Caller{Subject: t.Subject, Groups: t.Groups, Cluster: t.Cluster}, nil
}

// May tells whether a caller may do something. A cluster's worker may do nothing that grants are about.
func (c *Callers) May(ctx context.Context, who ledger.Caller, p ledger.Permission, k ledger.Key) (bool, error) {
	if who.All {
		return true, nil
	}
	if who.Cluster != "" || who.Subject == "" {
		return false, nil
	}
	grants, err := c.loadGrants(ctx)
	if err != nil {
		return false, err
	}
	for _, g := range grants {
		if g.AllowsObject(who, p, k) {
			return true, nil
		}
	}
	if c.config.Authorizer == nil {
		return false, nil
	}
	return c.config.Authorizer.Authorize(ctx, who, p, k)
}

// MayAny tells whether a caller may have one of some permissions for some object. Another authority only answers about
// objects that are named, so with one the answer is yes.
func (c *Callers) MayAny(ctx context.Context, who ledger.Caller, list ...ledger.Permission) (bool, error) {
	if who.All {
		return true, nil
	}
	if who.Cluster != "" || who.Subject == "" {
		return false, nil
	}
	grants, err := c.loadGrants(ctx)
	if err != nil {
		return false, err
	}
	for _, g := range grants {
		if slices.ContainsFunc(list, func(p ledger.Permission) bool { return g.HasPermission(who, p) }) {
			return true, nil
		}
	}
	return c.config.Authorizer != nil, nil
}

// loadGrants are the grants, at most as old as remember. One request reads them; others wait for it.
func (c *Callers) loadGrants(ctx context.Context) ([]ledger.Grant, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.grantsRead.IsZero() && time.Since(c.grantsRead) < grantsTTL {
		return c.grants, nil
	}
	began := time.Now() // before they are read: what is changed meanwhile counts a second later at most
	list, err := c.config.Access.Grants(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Kinds = expandKinds(list[i].Kinds, c.config.Groups)
	}
	c.grants, c.grantsRead = list, began
	return list, nil
}

// ForgetGrants has the grants read anew: they were changed.
func (c *Callers) ForgetGrants() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.grantsRead = time.Time{}
}

package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/tokenreview"
)

// LedgerGroup is the group of the API that permissions of the ledger itself are named by, of resource "changes".
const LedgerGroup = "ledger.cardea.dev"

// Kubernetes asks an API server who a token belongs to, and what that user may do. It implements Reviewer and
// Authorizer. Answers are remembered for seconds, and a few questions are under way at a time (tokenreview.Answers).
//
// A caller who may get or delete an object in the cluster may read or delete it in the ledger. A caller who may create
// an object may write one that does not exist, and a caller who may patch it, one that does. Other permissions are
// verbs (rollback, hold, propose, approve) on changes.ledger.cardea.dev, in the namespace of the object.
type Kubernetes struct {
	reviews rest.Interface // of tokens
	access  rest.Interface // of what users may do
	tokens  *tokenreview.Answers[ledger.Caller]
	answers *tokenreview.Answers[bool]
	// Audience, if not "", is one that tokens must be made for.
	Audience string
	// Targets are the targets of the ledger that the permissions of this cluster count for.
	Targets []string
	// Admins lets callers administer the ledger if they may `admin` changes.ledger.cardea.dev. Everybody who may do
	// everything in the cluster may do that, too.
	Admins bool
	// Plural is how a kind is called in paths; nil, or "" of a kind: as most are.
	Plural func(group, kind string) string
}

// NewKubernetes makes one; nothing is asked yet. Its user needs the ClusterRole system:auth-delegator.
func NewKubernetes(config *rest.Config) (*Kubernetes, error) {
	config = kubeclient.NoRetryConfig(config)
	config.QPS, config.RateLimiter = -1, nil // Answers are the limit
	reviews, err := kubeclient.Group(config, authenticationv1.SchemeGroupVersion, &authenticationv1.TokenReview{})
	if err != nil {
		return nil, err
	}
	access, err := kubeclient.Group(config, authorizationv1.SchemeGroupVersion, &authorizationv1.SubjectAccessReview{})
	if err != nil {
		return nil, err
	}
	return &Kubernetes{reviews: reviews, access: access, tokens: tokenreview.NewAnswers[ledger.Caller](nil, nil),
		answers: tokenreview.NewAnswers[bool](nil, nil)}, nil
}

// Review tells who a token belongs to (authentication.k8s.io/v1 TokenReview); false: nobody. The API server is not
// asked about what can't be one of its tokens.
func (k *Kubernetes) Review(ctx context.Context, token string) (ledger.Caller, bool, error) {
	ends, may := k.mayBeToken(token, time.Now())
	if !may {
		return ledger.Caller{}, false, nil
	}
	key := sha256.Sum256([]byte(token))
	who, err := k.tokens.Ask(ctx, key, func(ctx context.Context) (tokenreview.AcceptedAnswer[ledger.Caller], error) {
		who, err := k.reviewToken(ctx, token)
		return tokenreview.AcceptedAnswer[ledger.Caller]{Value: who, Ends: ends}, err
	})
	if errors.Is(err, tokenreview.ErrRefused) {
		return ledger.Caller{}, false, nil
	}
	return who, err == nil, err
}

func (k *Kubernetes) reviewToken(ctx context.Context, token string) (ledger.Caller, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if k.Audience != "" {
		review.Spec.Audiences = []string{k.Audience}
	}
	answer := &authenticationv1.TokenReview{}
	if err := k.reviews.Post().Resource("tokenreviews").Body(review).Do(ctx).Into(answer); err != nil {
		return ledger.Caller{}, err
	}
	user := answer.Status.User
	switch {
	case !answer.Status.Authenticated:
		return ledger.Caller{}, tokenreview.ErrRefused
	case k.Audience != "" && !slices.Contains(answer.Status.Audiences, k.Audience):
		return ledger.Caller{}, tokenreview.ErrRefused // made for another, or nobody looked for whom
	}
	return ledger.Caller{Subject: user.Username, Groups: user.Groups}, nil
}

// clockSkew is how far the clocks of this program and of the API server may differ.
const clockSkew = time.Minute

// maxKubeTokenBytes is how long a token of a cluster may be: one of a ServiceAccount has about 1,000 bytes.
const maxKubeTokenBytes = 16 << 10

// mayBeToken tells whether a text may be a token of the cluster, and when the token ends (zero: it does not say). A
// signed token names its audience and its end. Any other text that has the form of a token is for the API server to
// judge.
func (k *Kubernetes) mayBeToken(token string, now time.Time) (ends time.Time, may bool) {
	if len(token) > maxKubeTokenBytes || strings.ContainsFunc(token, isNoToken) {
		return ends, false
	}
	audiences, ends, signed := tokenreview.ParseClaims(token)
	switch {
	case !signed:
		return ends, !strings.HasPrefix(token, "eyJ") || strings.Count(token, ".") != 2 // the beginning of {" in base64
	case !ends.IsZero() && !ends.After(now.Add(-clockSkew)):
		return ends, false
	case k.Audience != "" && len(audiences) > 0 && !slices.Contains(audiences, k.Audience):
		return ends, false
	}
	return ends, true
}

// isNoToken tells what is in no bearer token (RFC 6750, 2.1). Some tokens that webhooks of API servers know have a
// colon, too: "kubeconfig-u-8k2vd:SECRET".
func isNoToken(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	return !letter && !strings.ContainsRune("-._~+/=:", r)
}

// delegatingGroups are the groups of kinds that give permissions to others. For these, the API server asks for more
// than a verb on the object: nobody may give more than they have, unless they have a verb such as escalate, bind,
// approve, sign or attest. The API server can't make this check when a worker applies the object as itself. So only a
// grant lets a caller write them.
var delegatingGroups = []string{"rbac.authorization.k8s.io", "authorization.openshift.io", "certificates.k8s.io"}

// Authorize asks whether a caller may do something (authorization.k8s.io/v1 SubjectAccessReview): first with all
// objects, then with all of the kind, then with those in the namespace, then with the object itself. So a list of
// many objects needs few questions.
func (k *Kubernetes) Authorize(
	ctx context.Context, c ledger.Caller, p ledger.Permission, key ledger.Key,
) (bool, error) {
	if p == ledger.MayAdmin {
		if !k.Admins {
			return false, nil
		}
		return k.askAccess(ctx, c, changeAttributes(string(p), ""))
	}
	if !slices.Contains(k.Targets, key.Target) || slices.Contains(delegatingGroups, key.Group) && p != ledger.MayRead {
		return false, nil // this cluster says nothing about it
	}
	for _, wide := range wideningKeys(key) {
		if ok, err := k.hasAllVerbs(ctx, c, p, wide); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// wideningKeys are the keys that include the key's object in a permission: from all objects of the target to the object
// itself. A key without a name stands for all objects of what its other fields say.
func wideningKeys(k ledger.Key) []ledger.Key {
	list := []ledger.Key{{Target: k.Target}}
	if k.Kind != "" {
		list = append(list, ledger.Key{Target: k.Target, Group: k.Group, Kind: k.Kind})
	}
	if k.Namespace != "" {
		list = append(list, ledger.Key{Target: k.Target, Group: k.Group, Kind: k.Kind, Namespace: k.Namespace})
	}
	if k.Name != "" {
		list = append(list, k)
	}
	return list
}

// permissionVerbs are the API server's verbs for a permission; a caller needs all of them.
var permissionVerbs = map[ledger.Permission][]string{
	ledger.MayRead: {"get"}, ledger.MayDelete: {"delete"}, ledger.MayWrite: {"patch", "create"},
	ledger.MayCreate: {"create"}, ledger.MayChange: {"patch"},
}

// hasAllVerbs tells whether a caller has all verbs of a permission for a key.
func (k *Kubernetes) hasAllVerbs(
	ctx context.Context, c ledger.Caller, p ledger.Permission, key ledger.Key,
) (bool, error) {
	list, is := permissionVerbs[p]
	if !is {
		return k.askAccess(ctx, c, changeAttributes(string(p), key.Namespace))
	}
	for _, verb := range list {
		if ok, err := k.askAccess(ctx, c, k.verbAttributes(verb, key)); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// askAccess asks about one thing.
func (k *Kubernetes) askAccess(
	ctx context.Context, c ledger.Caller, what authorizationv1.ResourceAttributes,
) (bool, error) {
	asked := authorizationv1.SubjectAccessReviewSpec{User: c.Subject, Groups: c.Groups, ResourceAttributes: &what}
	text, err := json.Marshal(asked)
	if err != nil {
		return false, err
	}
	_, err = k.answers.Ask(ctx, sha256.Sum256(text), func(ctx context.Context) (said tokenreview.AcceptedAnswer[bool],
		err error) {
		answer := &authorizationv1.SubjectAccessReview{}
		err = k.access.Post().Resource("subjectaccessreviews").
			Body(&authorizationv1.SubjectAccessReview{Spec: asked}).Do(ctx).Into(answer)
		if err == nil && !answer.Status.Allowed {
			err = tokenreview.ErrRefused
		}
		return tokenreview.AcceptedAnswer[bool]{Value: true}, err
	})
	switch {
	case errors.Is(err, tokenreview.ErrRefused):
		return false, nil
	case err != nil:
		return false, &ledger.Error{Code: ledger.Unavailable, Cause: err,
			Message: "the API server can't be asked what " + c.Subject + " may do"}
	}
	return true, nil
}

// changeAttributes is a permission that only the ledger knows, as attributes that the API server can be asked about.
func changeAttributes(verb, namespace string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Group: LedgerGroup, Resource: "changes", Verb: verb, Namespace: namespace}
}

// verbAttributes is a verb on what a key names.
func (k *Kubernetes) verbAttributes(verb string, key ledger.Key) authorizationv1.ResourceAttributes {
	what := authorizationv1.ResourceAttributes{Group: "*", Resource: "*", Verb: verb, Namespace: key.Namespace}
	if key.Kind == "" { // all objects
		return what
	}
	what.Group, what.Resource = key.Group, k.pluralOf(key)
	if verb != "create" { // who creates an object names it in its body: the API server knows no name then
		what.Name = key.Name
	}
	return what
}

// pluralOf is how a key's kind is called in paths.
func (k *Kubernetes) pluralOf(key ledger.Key) string {
	if k.Plural != nil {
		if plural := k.Plural(key.Group, key.Kind); plural != "" {
			return plural
		}
	}
	guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: key.Group, Kind: key.Kind})
	return guess.Resource
}

package caller

import (
	"context"
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/ledger"
)

// LedgerGroup is the group of the API that permissions of the ledger itself are named by, of resource "changes".
const LedgerGroup = "ledger.cardea.dev"

// Kubernetes asks an API server whose token something is, and what that user may do. It implements Reviewer and
// Authorizer.
//
// Who may get, patch and delete an object in the cluster may read, write and delete it in the ledger. Other permissions
// are verbs (rollback, hold, propose, approve, admin) on changes.ledger.cardea.dev, in the namespace of the object.
type Kubernetes struct {
	client kubernetes.Interface
	// Audience, if not "", is one that tokens must be made for.
	Audience string
	// Targets are those with whose objects callers may do what they may do in this cluster.
	Targets []string
	// Plural is how a kind is called in paths; nil, or "" of a kind: as most are.
	Plural func(group, kind string) string
}

// NewKubernetes makes one; nothing is asked yet. Its user needs the ClusterRole system:auth-delegator.
func NewKubernetes(config *rest.Config) (*Kubernetes, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("ask the API server about callers: %w", err)
	}
	return &Kubernetes{client: client}, nil
}

// Review is whose token something is (authentication.k8s.io/v1 TokenReview).
func (k *Kubernetes) Review(ctx context.Context, token string) (ledger.Caller, bool, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	if k.Audience != "" {
		review.Spec.Audiences = []string{k.Audience}
	}
	answer, err := k.client.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return ledger.Caller{}, false, err
	}
	user := answer.Status.User
	if k.Audience != "" && !slices.Contains(answer.Status.Audiences, k.Audience) {
		return ledger.Caller{}, false, nil // made for another, or nobody looked for whom
	}
	return ledger.Caller{Subject: user.Username, Groups: user.Groups}, answer.Status.Authenticated, nil
}

// Authorize asks whether a caller may do something (authorization.k8s.io/v1 SubjectAccessReview).
func (k *Kubernetes) Authorize(
	ctx context.Context, c ledger.Caller, p ledger.Permission, key ledger.Key,
) (bool, error) {
	if key.Target != "" && !slices.Contains(k.Targets, key.Target) {
		return false, nil // this cluster says nothing about objects of others
	}
	answer, err := k.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: c.Subject, Groups: c.Groups, ResourceAttributes: k.of(p, key)},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, &ledger.Error{Code: ledger.Unavailable, Cause: err,
			Message: "the API server can't be asked what " + c.Subject + " may do"}
	}
	return answer.Status.Allowed, nil
}

// of is a permission as the API server knows it.
func (k *Kubernetes) of(p ledger.Permission, key ledger.Key) *authorizationv1.ResourceAttributes {
	verb, is := map[ledger.Permission]string{
		ledger.MayRead: "get", ledger.MayWrite: "patch", ledger.MayDelete: "delete",
	}[p]
	if !is {
		return &authorizationv1.ResourceAttributes{Group: LedgerGroup, Resource: "changes", Verb: string(p),
			Namespace: key.Namespace}
	}
	if key.Kind == "" { // all objects
		return &authorizationv1.ResourceAttributes{Group: "*", Resource: "*", Verb: verb, Namespace: key.Namespace}
	}
	plural := ""
	if k.Plural != nil {
		plural = k.Plural(key.Group, key.Kind)
	}
	if plural == "" {
		guess, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: key.Group, Kind: key.Kind})
		plural = guess.Resource
	}
	return &authorizationv1.ResourceAttributes{Group: key.Group, Resource: plural, Verb: verb, Namespace: key.Namespace,
		Name: key.Name}
}

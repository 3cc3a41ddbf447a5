package tokenreview

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
)

// ErrRefused means that a token is not one of a ServiceAccount for the audience. Any other error means that nobody
// knows.
var ErrRefused = errors.New("token refused")

// Account is who a token belongs to. Pod and PodUID are "" if the token is bound to no pod.
type Account struct {
	Namespace, Name string
	Pod, PodUID     string
}

// ReviewerConfig says who may be who.
type ReviewerConfig struct {
	REST     *rest.Config
	Audience string // that tokens must be for
	// Account says whether a ServiceAccount of that name may be a proxy's. Tokens of others are refused unasked.
	Account func(name string) bool
	Metrics prometheus.Registerer // nil: none
	Now     func() time.Time      // nil is time.Now
}

// Reviewer asks the API server which account a token is from (TokenReview). It refuses by itself a token that does not
// even claim to be for the audience, and from an account that may be a proxy's. While the API server is away, a token
// that it has accepted goes on being accepted until it expires. Any goroutine may use it.
type Reviewer struct {
	client   rest.Interface
	audience string
	account  func(name string) bool
	now      func() time.Time
	results  *prometheus.CounterVec
	answers  *Answers[Account]
}

// NewReviewer makes a Reviewer. It makes no request.
func NewReviewer(c ReviewerConfig) (*Reviewer, error) {
	if c.REST == nil || c.Audience == "" || c.Account == nil {
		return nil, errors.New("tokenreview: a cluster, an audience and a rule for accounts are needed to review tokens")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	config := rest.CopyConfig(c.REST)
	config.QPS, config.RateLimiter = -1, nil // slots are the limit
	client, err := kubeclient.Group(config, authenticationv1.SchemeGroupVersion, &authenticationv1.TokenReview{})
	if err != nil {
		return nil, err
	}
	r := &Reviewer{
		client: client, audience: c.Audience, account: c.Account, now: c.Now,
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_kube_token_reviews_total",
			Help: "Tokens of proxies by what the API server said of them: accepted, refused, unknown (it did not answer). " +
				"What is remembered is not counted.",
		}, []string{"result"}),
	}
	r.answers = NewAnswers[Account](c.Now, func(result string) { r.results.WithLabelValues(result).Inc() })
	if c.Metrics != nil {
		if err := c.Metrics.Register(r.results); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Review says which account a token is from. The error is ErrRefused, or what kept the API server from answering.
func (r *Reviewer) Review(ctx context.Context, token string) (Account, error) {
	if err := r.checkClaims(token); err != nil {
		return Account{}, err
	}
	account, err := r.answers.Ask(ctx, sha256.Sum256([]byte(token)), func(ctx context.Context) (AcceptedAnswer[Account],
		error) {
		return r.postReview(ctx, token)
	})
	if err != nil && !errors.Is(err, ErrRefused) {
		err = fmt.Errorf("review a token: %w", err)
	}
	return account, err
}

// postReview lets the API server review a token.
func (r *Reviewer) postReview(ctx context.Context, token string) (said AcceptedAnswer[Account], err error) {
	question := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token,
		Audiences: []string{r.audience}}}
	answer := &authenticationv1.TokenReview{}
	err = r.client.Post().Resource("tokenreviews").Body(question).MaxRetries(0).Do(ctx).Into(answer)
	if err != nil {
		return said, err
	}
	c, _ := claimsOf(token)
	said.Ends = c.expiry()
	said.Value, err = r.readStatus(answer.Status)
	return said, err
}

// readStatus reads what the API server said. An API server that does not know of audiences says nothing of them.
func (r *Reviewer) readStatus(s authenticationv1.TokenReviewStatus) (Account, error) {
	switch {
	case s.Error != "":
		return Account{}, fmt.Errorf("%w: %s", ErrRefused, s.Error)
	case !s.Authenticated:
		return Account{}, ErrRefused
	case !slices.Contains(s.Audiences, r.audience):
		return Account{}, fmt.Errorf("%w: it is not for the audience %s", ErrRefused, r.audience)
	}
	namespace, name, isAccount := accountOf(s.User.Username)
	if !isAccount {
		return Account{}, fmt.Errorf("%w: it belongs to %s, which is not a ServiceAccount", ErrRefused, s.User.Username)
	}
	extra := func(key string) string {
		if values := s.User.Extra["authentication.kubernetes.io/"+key]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
	return Account{Namespace: namespace, Name: name, Pod: extra("pod-name"), PodUID: extra("pod-uid")}, nil
}

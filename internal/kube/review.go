package kube

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// ErrRefused means that a token is not one of a ServiceAccount for the audience. Any other error means that nobody
// knows.
var ErrRefused = errors.New("token refused")

// Account is who a token belongs to. Pod and PodUID are "" if the token is bound to no pod.
type Account struct {
	Namespace, Name string
	Pod, PodUID     string
}

// What is remembered of a review, and for how long.
const (
	acceptedFor  = 10 * time.Second // then it is asked about again; a token of a pod that is gone is refused from then on
	refusedFor   = 2 * time.Second  // whoever tries again and again asks no more often
	unknownFor   = 2 * time.Second  // the same, for who was accepted before
	reviewWithin = 5 * time.Second
	maxReviews   = 4096
	// reviewsAtOnce is how many questions are under way at most, whoever asks: each forged token is one.
	reviewsAtOnce = 16
)

// ReviewerConfig says who may be who.
type ReviewerConfig struct {
	REST     *rest.Config
	Audience string // that tokens must be for
	// Account says whether a ServiceAccount of that name may be a proxy's. Tokens of others are refused unasked.
	Account func(name string) bool
	Metrics prometheus.Registerer // nil: none
	Now     func() time.Time      // nil is time.Now
}

// Reviewer asks the API server whose tokens are (TokenReview). It refuses by itself what does not even claim to be a
// token for the audience, of an account that may be a proxy's. While the API server is away, a token that it has
// accepted goes on being accepted until it expires. Any goroutine may use it.
type Reviewer struct {
	client   rest.Interface
	audience string
	account  func(name string) bool
	now      func() time.Time
	results  *prometheus.CounterVec
	asking   singleflight.Group
	memory   *reviews
	slots    chan struct{} // as many as may be under way
}

// NewReviewer makes a Reviewer. It makes no request.
func NewReviewer(c ReviewerConfig) (*Reviewer, error) {
	if c.REST == nil || c.Audience == "" || c.Account == nil {
		return nil, errors.New("kube: a cluster, an audience and a rule for accounts are needed to review tokens")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	config := rest.CopyConfig(c.REST)
	config.QPS, config.RateLimiter = -1, nil // slots are the limit
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	client, err := newTyped(config, transport, authenticationv1.SchemeGroupVersion, false,
		serializer.NewCodecFactory(scheme))
	if err != nil {
		return nil, err
	}
	r := &Reviewer{
		client: client, audience: c.Audience, account: c.Account, now: c.Now, memory: newReviews(),
		slots: make(chan struct{}, reviewsAtOnce),
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardea_kube_token_reviews_total",
			Help: "Tokens of proxies by what the API server said of them: accepted, refused, unknown (it did not answer). " +
				"What is remembered is not counted.",
		}, []string{"result"}),
	}
	if c.Metrics != nil {
		if err := c.Metrics.Register(r.results); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Review says whose a token is. The error is ErrRefused, or what kept the API server from answering.
func (r *Reviewer) Review(ctx context.Context, token string) (Account, error) {
	if err := r.refusal(token); err != nil {
		return Account{}, err
	}
	key := sha256.Sum256([]byte(token))
	known, fresh := r.remembered(key)
	if fresh {
		return known.account, known.err
	}
	// Who asks first may give up first: the question is not theirs alone.
	answer := r.asking.DoChan(string(key[:]), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewWithin)
		defer cancel()
		known, fresh := r.remembered(key)
		if !fresh { // nobody else has just asked
			known = r.ask(ctx, key, token, known)
		}
		return known, nil
	})
	select {
	case <-ctx.Done():
		return Account{}, fmt.Errorf("review a token: %w", context.Cause(ctx))
	case result := <-answer:
		now := result.Val.(review)
		return now.account, now.err
	}
}

// remembered is what is known of a token that has not ended, and whether it need not be asked about again.
func (r *Reviewer) remembered(key reviewKey) (known review, fresh bool) {
	now := r.now()
	known, ok := r.memory.get(key, now)
	return known, ok && now.Before(known.until)
}

// ask has a token reviewed, and remembers the answer. Without one, a token that was accepted before still is.
func (r *Reviewer) ask(ctx context.Context, key reviewKey, token string, known review) review {
	question := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token,
		Audiences: []string{r.audience}}}
	answer := &authenticationv1.TokenReview{}
	if err := r.post(ctx, question, answer); err != nil {
		r.results.WithLabelValues("unknown").Inc()
		if known.account == (Account{}) {
			return review{err: fmt.Errorf("review a token: %w", err)}
		}
		known.until = earlier(r.now().Add(unknownFor), known.ends)
		r.memory.put(key, known, r.now())
		return known
	}
	c, _ := claimsOf(token)
	found := review{ends: c.ends()}
	if found.account, found.err = r.read(answer.Status); found.err != nil {
		r.results.WithLabelValues("refused").Inc()
		found.until = r.now().Add(refusedFor)
		found.ends = found.until
	} else {
		r.results.WithLabelValues("accepted").Inc()
		found.until = earlier(r.now().Add(acceptedFor), found.ends)
	}
	r.memory.put(key, found, r.now())
	return found
}

func (r *Reviewer) post(ctx context.Context, question, answer *authenticationv1.TokenReview) error {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return fmt.Errorf("%d others are reviewed: %w", cap(r.slots), context.Cause(ctx))
	}
	return r.client.Post().Resource("tokenreviews").Body(question).MaxRetries(0).Do(ctx).Into(answer)
}

// read reads what the API server said. An API server that does not know of audiences says nothing of them.
func (r *Reviewer) read(s authenticationv1.TokenReviewStatus) (Account, error) {
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
		return Account{}, fmt.Errorf("%w: it belongs to %s, which is no ServiceAccount", ErrRefused, s.User.Username)
	}
	extra := func(key string) string {
		if values := s.User.Extra["authentication.kubernetes.io/"+key]; len(values) > 0 {
			return values[0]
		}
		return ""
	}
	return Account{Namespace: namespace, Name: name, Pod: extra("pod-name"), PodUID: extra("pod-uid")}, nil
}

// earlier is the earlier of two times; a zero time is never.
func earlier(a, b time.Time) time.Time {
	if !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

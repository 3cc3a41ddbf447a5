package tokenreview

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const audience = "cardea.dev/xds"

// reviewing is a Reviewer whose clock the test moves.
type reviewing struct {
	*Reviewer
	registry *prometheus.Registry
	mu       sync.Mutex
	time     time.Time
}

// mayBeProxy tells the accounts of tests' proxies.
func mayBeProxy(account string) bool { return account != "stranger" }

func newReviewing(p *place) *reviewing {
	r := &reviewing{registry: prometheus.NewRegistry(), time: time.Now()}
	now := func() time.Time {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.time
	}
	var err error
	if r.Reviewer, err = NewReviewer(ReviewerConfig{REST: p.Config, Audience: audience, Account: mayBeProxy,
		Metrics: r.registry, Now: now}); err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (r *reviewing) later(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.time = r.time.Add(d)
}

// counts is what was counted: "accepted 1, refused 2".
func (r *reviewing) counts() string {
	families, _ := r.registry.Gather()
	var list []string
	for _, f := range families {
		for _, m := range f.Metric {
			list = append(list, fmt.Sprintf("%s %v", m.Label[0].GetValue(), m.Counter.GetValue()))
		}
	}
	return strings.Join(list, ", ")
}

// token asks for a token of a ServiceAccount of the place, for the API server unless audiences are given.
func (p *place) token(account string, bound *authenticationv1.BoundObjectReference, audiences ...string) string {
	p.t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences,
		BoundObjectRef: bound}}
	made, err := p.Client.CoreV1().ServiceAccounts(p.namespace).CreateToken(context.Background(), account, request,
		metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return made.Status.Token
}

// pod makes a pod that never runs, and is what a token of it is bound to.
func (p *place) pod(name, account string) *authenticationv1.BoundObjectReference {
	p.t.Helper()
	made, err := p.Client.CoreV1().Pods(p.namespace).Create(context.Background(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			ServiceAccountName: account, Containers: []corev1.Container{{Name: "main", Image: "none"}},
			SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/never"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: name, UID: made.UID}
}

func TestReview(t *testing.T) {
	p := newPlace(t)
	p.account("proxy")
	p.account("other")
	p.account("stranger")
	pod := p.pod("proxy-1", "proxy")
	r := newReviewing(p)
	good := p.token("proxy", pod, audience)
	changed := good[:len(good)-4] + "AAAA"
	for _, c := range []struct {
		name, token string
		want        Account
		refusal     string
	}{
		{"bound to a pod", good, Account{p.namespace, "proxy", "proxy-1", string(pod.UID)}, ""},
		{"bound to none", p.token("proxy", nil, audience), Account{Namespace: p.namespace, Name: "proxy"}, ""},
		{"another account", p.token("other", nil, audience), Account{Namespace: p.namespace, Name: "other"}, ""},
		{"several audiences", p.token("proxy", nil, "more", audience), Account{Namespace: p.namespace, Name: "proxy"}, ""},
		{"another audience", p.token("proxy", pod, "example.com/else"), Account{}, "audience"},
		{"the API server's audience", p.token("proxy", pod), Account{}, "audience"},
		{"no proxy's account", p.token("stranger", nil, audience), Account{}, "stranger"},
		{"garbage", "garbage", Account{}, "not a token of a ServiceAccount"},
		{"a changed token", changed, Account{}, ""},
		{"none", "", Account{}, ""},
	} {
		account, err := r.Review(t.Context(), c.token)
		if account != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, account, c.want)
		}
		if refused := c.want == (Account{}); refused != errors.Is(err, ErrRefused) || !refused && err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if refused && !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s: %v, want something of %q", c.name, err, c.refusal)
		}
	}
	if got, want := r.counts(), "accepted 4, refused 1"; got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
	// What is known is not asked about again, for a while.
	for range 3 {
		if _, err := r.Review(t.Context(), good); err != nil {
			t.Error(err)
		}
		if _, err := r.Review(t.Context(), changed); !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
	}
	if got, want := r.counts(), "accepted 4, refused 1"; got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
	r.later(refusedFor)
	_, _ = r.Review(t.Context(), changed)
	if got, want := r.counts(), "accepted 4, refused 2"; got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
	r.later(acceptedFor)
	_, _ = r.Review(t.Context(), good)
	if got, want := r.counts(), "accepted 5, refused 2"; got != want {
		t.Errorf("counted %s, want %s", got, want)
	}
}

// TestReviewOfNoAccount: a user of the API server is not a proxy.
func TestReviewOfNoAccount(t *testing.T) {
	p := newPlace(t)
	r := newReviewing(p)
	if account, err := r.Review(t.Context(), p.Config.BearerToken); !errors.Is(err, ErrRefused) {
		t.Errorf("%+v, %v", account, err)
	}
}

// TestReviewWithoutAPIServer: who was accepted goes on being accepted until the token ends; nobody else is, and nobody
// is refused.
func TestReviewWithoutAPIServer(t *testing.T) {
	p := newPlace(t)
	p.account("proxy")
	r := newReviewing(p)
	known, unknown := p.token("proxy", nil, audience), p.token("proxy", nil, audience, "more")
	if _, err := r.Review(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	forged := known[:len(known)-4] + "AAAA"
	if _, err := r.Review(t.Context(), forged); !errors.Is(err, ErrRefused) {
		t.Fatal(err)
	}
	p.StopAPIServer()
	defer func() {
		if err := p.StartAPIServer(context.Background()); err != nil {
			t.Fatal(err)
		}
	}()
	r.later(time.Minute)
	if account, err := r.Review(t.Context(), known); err != nil || account.Name != "proxy" {
		t.Errorf("known: %+v, %v", account, err)
	}
	if _, err := r.Review(t.Context(), known); err != nil || r.counts() != "accepted 1, refused 1, unknown 1" {
		t.Errorf("again: %v, counted %s", err, r.counts())
	}
	for _, token := range []string{unknown, forged} {
		if account, err := r.Review(t.Context(), token); err == nil || errors.Is(err, ErrRefused) {
			t.Errorf("unknown: %+v, %v", account, err)
		}
	}
	r.later(24 * time.Hour)
	if account, err := r.Review(t.Context(), known); !errors.Is(err, ErrRefused) {
		t.Errorf("ended: %+v, %v", account, err)
	}
}

// TestReviewOnce: many who come with one token at the same time ask once; who gives up does so alone.
func TestReviewOnce(t *testing.T) {
	p := newPlace(t)
	p.account("proxy")
	r := newReviewing(p)
	token := p.token("proxy", nil, audience)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = r.Review(gone, token)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := r.Review(t.Context(), token); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := r.counts(); got != "accepted 1" {
		t.Errorf("counted %s, want accepted 1", got)
	}
}

// atOnce lets requests through when there are so many, and notes the most that there were.
type atOnce struct {
	next     http.RoundTripper
	now, top atomic.Int32
	enough   chan struct{}
	once     sync.Once
}

func (a *atOnce) RoundTrip(r *http.Request) (*http.Response, error) {
	n := a.now.Add(1)
	defer a.now.Add(-1)
	for top := a.top.Load(); n > top && !a.top.CompareAndSwap(top, n); {
		top = a.top.Load()
	}
	if n == reviewsAtOnce {
		a.once.Do(func() { close(a.enough) })
	}
	<-a.enough
	return a.next.RoundTrip(r)
}

// forge makes a token of claims; the signature is none.
func forge(claims string) string {
	encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return encode(`{"alg":"RS256","kid":"none"}`) + "." + encode(claims) + "." + encode("signature")
}

// claimed are claims like those of a proxy's token.
func claimed(i int) string {
	return fmt.Sprintf(`{"iss":"https://kubernetes.default.svc.cluster.local","aud":[%q],"exp":%d,"jti":"%d",
		"sub":"system:serviceaccount:shop:envoy-proxy-1"}`, audience, time.Now().Add(time.Hour).Unix(), i)
}

// TestGarbageIsNotReviewed: what says of itself that it is no token of a proxy, or says nothing, is refused by itself,
// in however many forms it comes. The API server is not asked, and nothing is remembered.
func TestGarbageIsNotReviewed(t *testing.T) {
	p := newPlace(t)
	r := newReviewing(p)
	change := func(old, now string) string { return forge(strings.Replace(claimed(0), old, now, 1)) }
	whole := forge(claimed(0))
	parts := strings.Split(whole, ".")
	garbage := map[string]string{
		"no parts":            "garbage",
		"parts of nothing":    "..",
		"parts of garbage":    "gar.ba.ge",
		"two parts":           parts[0] + "." + parts[1],
		"four parts":          whole + "." + parts[2],
		"no signature":        parts[0] + "." + parts[1] + ".",
		"no base64":           parts[0] + "." + parts[1] + "!." + parts[2],
		"no JSON":             forge("{"),
		"no object":           forge("[]"),
		"null":                forge("null"),
		"nothing is claimed":  forge("{}"),
		"another audience":    change(audience, "https://kubernetes.default.svc.cluster.local"),
		"no audience":         change(`"aud"`, `"else"`),
		"a user":              change("system:serviceaccount:shop:envoy-proxy-1", "admin"),
		"no name":             change("shop:envoy-proxy-1", "shop"),
		"an empty name":       change("shop:envoy-proxy-1", "shop:"),
		"an empty namespace":  change("shop:envoy-proxy-1", ":envoy-proxy-1"),
		"no proxy's account":  change("envoy-proxy-1", "stranger"),
		"long ago":            change(fmt.Sprint(time.Now().Add(time.Hour).Unix()), "1"),
		"it never ends":       change(`"exp"`, `"else"`),
		"longer than a token": forge(claimed(0) + strings.Repeat(" ", maxToken)),
	}
	for name, token := range garbage {
		for range 50 {
			if account, err := r.Review(t.Context(), token); !errors.Is(err, ErrRefused) || account != (Account{}) {
				t.Errorf("%s: %+v, %v", name, account, err)
			} else if len(err.Error()) > 1000 {
				t.Errorf("%s: a message of %d bytes", name, len(err.Error()))
			}
		}
	}
	for i := range 10 * maxReviews {
		if _, err := r.Review(t.Context(), fmt.Sprint("garbage", i)); !errors.Is(err, ErrRefused) {
			t.Fatal(err)
		}
	}
	if got := r.counts(); got != "" || len(r.answers.memory.of) > 0 {
		t.Errorf("counted %s, %d are remembered; want nothing", got, len(r.answers.memory.of))
	}
	if _, err := r.Review(t.Context(), whole); !errors.Is(err, ErrRefused) || r.counts() != "refused 1" {
		t.Errorf("%v, counted %s: what may be a proxy's is the API server's to judge", err, r.counts())
	}
}

// TestReviewsAtOnce: whoever comes with forged tokens, and however much of it, asks the API server no more than so many
// things at once.
func TestReviewsAtOnce(t *testing.T) {
	p := newPlace(t)
	seen := &atOnce{enough: make(chan struct{})}
	config := rest.CopyConfig(p.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	})
	r, err := NewReviewer(ReviewerConfig{REST: config, Audience: audience, Account: mayBeProxy})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 5 * reviewsAtOnce {
		group.Go(func() {
			if _, err := r.Review(t.Context(), forge(claimed(i))); !errors.Is(err, ErrRefused) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if top := seen.top.Load(); top > reviewsAtOnce {
		t.Errorf("%d reviews were under way at once", top)
	}
}

// TestReviewsBound: what is remembered has a bound, and garbage does not drive out who is known.
func TestReviewsBound(t *testing.T) {
	m, now := newPastAnswers[Account](), time.Unix(1e9, 0)
	key := func(i int) AnswerKey { return sha256.Sum256(fmt.Append(nil, i)) }
	for i := range 10 {
		m.put(key(i), answer[Account]{accepted: true, value: Account{Name: "known"}, ends: now.Add(time.Hour)}, now)
	}
	for i := range 2 * maxReviews {
		m.put(key(100+i), answer[Account]{err: ErrRefused, ends: now.Add(time.Minute)}, now.Add(time.Second))
	}
	if len(m.of) > maxReviews {
		t.Errorf("%d are remembered", len(m.of))
	}
	for i := range 10 {
		if is := m.get(key(i), now); !is.accepted {
			t.Errorf("%d was forgotten", i)
		}
	}
	m.put(key(99), answer[Account]{accepted: true}, now.Add(2*time.Hour))
	if len(m.of) != 11 {
		t.Errorf("%d are remembered, want the 11 that were accepted", len(m.of))
	}
}

// TestAsksABusyServerOnce: the caller says when to try again.
func TestAsksABusyServerOnce(t *testing.T) {
	var asked atomic.Int64
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	reviewer, err := NewReviewer(ReviewerConfig{REST: &rest.Config{Host: busy.URL}, Audience: audience,
		Account: mayBeProxy})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reviewer.Review(t.Context(), forge(claimed(0))); err == nil || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

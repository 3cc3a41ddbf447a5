package identity

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"cardea.dev/cardea/internal/deliver/kube/queue"
)

const (
	// workers is how many requests are answered at a time: an answer waits for the API server, twice.
	workers = 4
	// recheckInterval is how soon an API server is asked again that does not serve a kind.
	recheckInterval = time.Minute
	// firstRetry and lastRetry bound the pause after the API server could not be asked what it serves.
	firstRetry, lastRetry = 200 * time.Millisecond, 30 * time.Second
)

// Signer answers PodCertificateRequests, and publishes a ClusterTrustBundle.
type Signer struct {
	cfg           Config
	api           *apiClient
	metrics       *metrics
	authorityOnce sync.Once // the authority is run
}

// New makes a Signer. It makes no request.
func New(cfg Config) (*Signer, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	api, err := newAPI(cfg.REST)
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Metrics)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return &Signer{cfg: cfg, api: api, metrics: m}, nil
}

// Run answers and publishes until ctx ends. A resource that the API server does not serve is looked for again later.
func (s *Signer) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	for resource, part := range map[string]func(context.Context, rest.Interface){
		bundlesResource: s.publishBundle, requestsResource: s.signRequests,
	} {
		parts.Go(func() {
			s.whileServed(ctx, resource, func(client rest.Interface) {
				s.authorityOnce.Do(func() { parts.Go(func() { cancel(s.cfg.Authority.Run(ctx)) }) })
				select {
				case <-s.cfg.Authority.WhenLoaded():
					part(ctx, client)
				case <-ctx.Done():
				}
			})
		})
	}
	parts.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// whileServed runs a part in the version in which a resource is served, until ctx ends. A part returns when the
// resource is not served any more.
func (s *Signer) whileServed(ctx context.Context, resource string, part func(rest.Interface)) {
	log := s.cfg.Log.With("resource", resource, "signer", s.cfg.Signer)
	said, pause := "", firstRetry
	say := func(what string) {
		if said != what && ctx.Err() == nil {
			said = what
			log.Info(what)
		}
	}
	for ctx.Err() == nil {
		client, err := s.api.findServed(ctx, resource)
		switch {
		case client != nil:
			say("the API server serves this kind; pods can get certificates")
			pause = firstRetry
			part(client)
		case err == nil:
			say("the API server does not serve this kind; pods get no certificates (docs/identity.md)")
			pause = recheckInterval
		default:
			pause = min(2*pause, lastRetry) // the edge that reads the cluster says that the API server is away
		}
		s.waitFor(ctx, pause)
	}
}

func (s *Signer) waitFor(ctx context.Context, d time.Duration) {
	timer := s.cfg.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
	}
}

// signRequests answers requests until ctx ends, or they are not served any more.
func (s *Signer) signRequests(ctx context.Context, client rest.Interface) {
	ctx, cancel := context.WithCancel(ctx)
	var store cache.Store
	queue := queue.New(queue.Config[cache.ObjectName]{
		Do: func(ctx context.Context, name cache.ObjectName) (time.Duration, error) {
			return 0, s.answerNext(ctx, client, store, name)
		}, Workers: workers, Subject: "a pod's certificate", Log: s.cfg.Log,
	})
	note := func(o any) {
		if r, ok := o.(*certificatesv1beta1.PodCertificateRequest); ok && !isAnswered(r) {
			queue.Add(cache.MetaObjectToName(r))
		}
	}
	from := cache.NewListWatchFromClient(client, requestsResource, metav1.NamespaceAll,
		fields.OneTermEqualSelector("spec.signerName", s.cfg.Signer))
	var informer cache.Controller
	store, informer = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: s.endOnNotFound(from, cancel), ObjectType: &certificatesv1beta1.PodCertificateRequest{},
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, new any) { note(new) }},
	})
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { informer.RunWithContext(ctx) })
	queue.Run(ctx)
}

// answerNext answers one request, if it is there and has no answer.
func (s *Signer) answerNext(
	ctx context.Context, client rest.Interface, store cache.Store, name cache.ObjectName,
) error {
	o, found, err := store.GetByKey(name.String())
	if r, ok := o.(*certificatesv1beta1.PodCertificateRequest); err == nil && found && ok && !isAnswered(r) {
		err = s.settleRequest(ctx, client, r)
	}
	if err != nil && !errors.Is(ctx.Err(), context.Canceled) { // it may have taken too long
		s.metrics.answers.WithLabelValues("failed").Inc()
	}
	return err
}

// settleRequest gives a request its answer. It is no error if the request is gone or has changed: its next version is
// looked at.
func (s *Signer) settleRequest(
	ctx context.Context, client rest.Interface, r *certificatesv1beta1.PodCertificateRequest,
) error {
	pod, err := s.readPod(ctx, r)
	if err != nil {
		return fmt.Errorf("read the pod: %w", err)
	}
	status, err := s.makeAnswer(r, pod)
	if err != nil {
		return err
	}
	body, err := statusPatch(r, status)
	if err != nil {
		return err
	}
	err = client.Patch(types.MergePatchType).Namespace(r.Namespace).Resource(requestsResource).Name(r.Name).
		SubResource("status").Body(body).Do(ctx).Error()
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	s.recordAnswer(r, status)
	return nil
}

// recordAnswer counts an answer, and logs one that is a refusal.
func (s *Signer) recordAnswer(
	r *certificatesv1beta1.PodCertificateRequest, status *certificatesv1beta1.PodCertificateRequestStatus,
) {
	if status.CertificateChain != "" {
		s.metrics.answers.WithLabelValues("issued").Inc()
		return
	}
	s.metrics.answers.WithLabelValues("denied").Inc()
	c := status.Conditions[0]
	s.cfg.Log.Info("a pod's certificate was denied", "namespace", r.Namespace, "request", r.Name, "pod", r.Spec.PodName,
		"reason", c.Reason, "message", c.Message)
}

// readPod is the pod that a request names, as the API server has it now; nil: there is none.
func (s *Signer) readPod(ctx context.Context, r *certificatesv1beta1.PodCertificateRequest) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := s.api.pods.Get().Namespace(r.Namespace).Resource("pods").Name(r.Spec.PodName).Do(ctx).Into(pod)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return pod, err
}

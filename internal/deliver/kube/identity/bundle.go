package identity

import (
	"context"
	"fmt"
	"sync"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// publishBundle keeps the ClusterTrustBundle until ctx ends, or it is not served any more. It is written again when
// somebody else changes or deletes it.
func (s *Signer) publishBundle(ctx context.Context, client rest.Interface) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	heard := make(chan struct{}, 1)
	watching.Go(func() { s.watchBundle(ctx, client, heard, cancel) })
	for pause := firstRetry; ctx.Err() == nil; {
		bundle, changed := s.cfg.Authority.Bundle()
		err := s.writeBundle(ctx, client, string(bundle))
		look := time.Hour
		switch {
		case err == nil:
			pause = firstRetry
		case isUnserved(err):
			return
		case ctx.Err() == nil:
			s.cfg.Log.Warn("the ClusterTrustBundle could not be written; retrying", "name", BundleName(s.cfg.Signer),
				"error", err)
			look, pause = pause, min(2*pause, lastRetry)
		}
		timer := s.cfg.Clock.NewTimer(look)
		select {
		case <-changed:
		case <-heard:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// watchBundle reports changes of the ClusterTrustBundle until ctx ends. It calls end when it is not served any more.
func (s *Signer) watchBundle(ctx context.Context, client rest.Interface, heard chan<- struct{}, end func()) {
	ring := func(any) {
		select {
		case heard <- struct{}{}:
		default: // a report is pending already
		}
	}
	from := cache.NewListWatchFromClient(client, bundlesResource, metav1.NamespaceAll,
		fields.OneTermEqualSelector(metav1.ObjectNameField, BundleName(s.cfg.Signer)))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: s.endOnNotFound(from, end), ObjectType: &certificatesv1beta1.ClusterTrustBundle{},
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: ring, UpdateFunc: func(_, new any) { ring(new) }, DeleteFunc: ring},
	})
	informer.RunWithContext(ctx)
}

// isUnserved tells whether an error says that the kind is not there, rather than the object.
func isUnserved(err error) bool {
	status, ok := err.(apierrors.APIStatus)
	return ok && apierrors.IsNotFound(err) && (status.Status().Details == nil || status.Status().Details.Name == "")
}

// writeBundle makes the ClusterTrustBundle say what is trusted.
func (s *Signer) writeBundle(ctx context.Context, client rest.Interface, bundle string) error {
	name := BundleName(s.cfg.Signer)
	b := &certificatesv1beta1.ClusterTrustBundle{}
	err := client.Get().Resource(bundlesResource).Name(name).Do(ctx).Into(b)
	if apierrors.IsNotFound(err) && !isUnserved(err) {
		b = &certificatesv1beta1.ClusterTrustBundle{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "cardea"},
		}}
		b.Spec.SignerName, b.Spec.TrustBundle = s.cfg.Signer, bundle
		return client.Post().Resource(bundlesResource).Body(b).Do(ctx).Error()
	}
	if err != nil || b.Spec.TrustBundle == bundle {
		return err
	}
	if b.Spec.SignerName != s.cfg.Signer {
		return fmt.Errorf("it belongs to signer %q", b.Spec.SignerName)
	}
	b.Spec.TrustBundle = bundle
	return client.Put().Resource(bundlesResource).Name(name).Body(b).Do(ctx).Error()
}

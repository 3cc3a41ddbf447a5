package certs

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

// read returns the state in the Secret, and the Secret. The state is nil if there is none, or if it is invalid; the
// Secret is nil if it does not exist. Without a client it is what was written last.
func (a *Authority) read(ctx context.Context) (*state, *corev1.Secret, error) {
	if a.cfg.Client == nil {
		return a.kept, nil, nil
	}
	secret, err := a.cfg.Client.CoreV1().Secrets(a.cfg.Namespace).Get(ctx, a.cfg.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := decode(secret.Data)
	if err != nil {
		a.cfg.Log.Error("an authority's Secret is invalid and is replaced", "authority", a.cfg.Purpose, "secret", a.cfg.Name,
			"error", err)
		return nil, secret, nil
	}
	return s, secret, nil
}

// write replaces the Secret that was read (nil: it did not exist) by the state. If it has changed meanwhile, that is an
// error like any other: it is read again after a pause.
func (a *Authority) write(ctx context.Context, s *state, old *corev1.Secret) error {
	if a.cfg.Client == nil {
		a.kept = s
		return nil
	}
	data, err := encode(s)
	if err != nil {
		return err
	}
	secrets := a.cfg.Client.CoreV1().Secrets(a.cfg.Namespace)
	if old == nil {
		secret := &corev1.Secret{Data: data, Type: corev1.SecretTypeOpaque}
		secret.Name = a.cfg.Name
		secret.Labels = map[string]string{"app.kubernetes.io/managed-by": "cardea"}
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	} else {
		secret := old.DeepCopy()
		secret.Data = data
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{}) // fails if the version has changed
	}
	if err == nil {
		a.cfg.Log.Info("an authority's Secret was written", "authority", a.cfg.Purpose, "secret", a.cfg.Name,
			"step", string(s.step()))
	}
	return err
}

// watch reports changes of the Secret until ctx ends. stop returns when the watch has ended.
func (a *Authority) watch(ctx context.Context) (heard <-chan struct{}, stop func()) {
	if a.cfg.Client == nil {
		return nil, func() {}
	}
	bell := make(chan struct{}, 1)
	ring := func(any) {
		select {
		case bell <- struct{}{}:
		default: // a report is pending already
		}
	}
	from := cache.NewListWatchFromClient(a.cfg.Client.CoreV1().RESTClient(), "secrets", a.cfg.Namespace,
		fields.OneTermEqualSelector(metav1.ObjectNameField, a.cfg.Name))
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: from, ObjectType: &corev1.Secret{},
		Handler: cache.ResourceEventHandlerFuncs{AddFunc: ring, UpdateFunc: func(_, new any) { ring(new) }, DeleteFunc: ring},
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	return bell, func() { <-done }
}

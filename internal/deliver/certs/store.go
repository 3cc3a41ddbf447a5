package certs

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"cardea.dev/cardea/internal/core/kubeclient"
)

// secrets is the resource of Secrets.
const secrets = "secrets"

// secretsOf makes a client of Secrets; nil: there is no cluster.
func secretsOf(config *rest.Config) (rest.Interface, error) {
	if config == nil {
		return nil, nil
	}
	return kubeclient.Group(config, corev1.SchemeGroupVersion, &corev1.Secret{}, &corev1.SecretList{})
}

// readSecret returns the state in the Secret, and the Secret. The state is nil if there is none, or if it is invalid;
// the Secret is nil if it does not exist. Without a client it is what was written last.
func (a *Authority) readSecret(ctx context.Context) (*state, *corev1.Secret, error) {
	if a.secrets == nil {
		return a.inMemory, nil, nil
	}
	secret := &corev1.Secret{}
	err := a.secrets.Get().Namespace(a.cfg.Namespace).Resource(secrets).Name(a.cfg.Name).Do(ctx).Into(secret)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := decodeState(secret.Data)
	if err != nil {
		a.cfg.Log.Error("an authority's Secret is invalid and is replaced", "authority", a.cfg.Purpose, "secret", a.cfg.Name,
			"error", err)
		return nil, secret, nil
	}
	return s, secret, nil
}

// writeSecret replaces the Secret that was read (nil: it did not exist) by the state. If it has changed meanwhile, that
// is an error like any other: it is read again after a pause.
func (a *Authority) writeSecret(ctx context.Context, s *state, old *corev1.Secret) error {
	if a.secrets == nil {
		a.inMemory = s
		return nil
	}
	data, err := encodeState(s)
	if err != nil {
		return err
	}
	if old == nil {
		secret := &corev1.Secret{Data: data, Type: corev1.SecretTypeOpaque}
		secret.Name = a.cfg.Name
		secret.Labels = map[string]string{"app.kubernetes.io/managed-by": "cardea"}
		err = a.secrets.Post().Namespace(a.cfg.Namespace).Resource(secrets).Body(secret).Do(ctx).Error()
	} else {
		secret := old.DeepCopy()
		secret.Data = data
		// It fails if the version has changed.
		err = a.secrets.Put().Namespace(a.cfg.Namespace).Resource(secrets).Name(a.cfg.Name).Body(secret).Do(ctx).Error()
	}
	if err == nil {
		a.cfg.Log.Info("an authority's Secret was written", "authority", a.cfg.Purpose, "secret", a.cfg.Name,
			"step", string(s.currentStep()))
	}
	return err
}

// watchSecret reports changes of the Secret until ctx ends. stop returns when the watch has ended.
func (a *Authority) watchSecret(ctx context.Context) (heard <-chan struct{}, stop func()) {
	if a.secrets == nil {
		return nil, func() {}
	}
	bell := make(chan struct{}, 1)
	ring := func(any) {
		select {
		case bell <- struct{}{}:
		default: // a report is pending already
		}
	}
	from := cache.NewListWatchFromClient(a.secrets, secrets, a.cfg.Namespace,
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

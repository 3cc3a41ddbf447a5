package identity

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// endOnNotFound calls end when the API server says that the resource is not served: an informer would ask on. It logs
// once that the resource may not be read.
func (s *Signer) endOnNotFound(from *cache.ListWatch, end func()) cache.ListerWatcher {
	var once sync.Once
	tell := func(err error) {
		switch {
		case apierrors.IsNotFound(err):
			end()
		case apierrors.IsForbidden(err):
			once.Do(func() {
				s.cfg.Log.Error("pods get no certificates: see deploy/install.yaml for the role", "error", err)
			})
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := from.ListWithContext(ctx, options)
			tell(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := from.WatchWithContext(ctx, options)
			tell(err)
			return w, err
		},
	}
}

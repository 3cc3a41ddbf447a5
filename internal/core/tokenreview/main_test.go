package tokenreview

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/test/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// place is a namespace of its own in the shared cluster.
type place struct {
	*kubetest.Cluster
	t         testing.TB
	namespace string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	c := kubetest.Shared(t)
	return &place{c, t, c.Namespace(t)}
}

// account makes a ServiceAccount of the place.
func (p *place) account(name string) {
	p.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := p.Client.CoreV1().ServiceAccounts(p.namespace).Create(context.Background(), account, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
}

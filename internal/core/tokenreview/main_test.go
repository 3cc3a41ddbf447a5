package tokenreview

import (
	"context"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// sharedCluster is that of all tests, which leave it as it was. It ends with the process.
var sharedCluster = sync.OnceValues(func() (*cluster.Cluster, error) {
	return cluster.Up(context.Background(), cluster.Options{})
})

// place is a namespace of its own in the shared cluster.
type place struct {
	*cluster.Cluster
	t         testing.TB
	namespace string
}

func newPlace(t testing.TB) *place {
	t.Helper()
	cluster.Require(t)
	c, err := sharedCluster()
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Client.CoreV1().Namespaces().
		Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}},
			metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &place{c, t, made.Name}
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

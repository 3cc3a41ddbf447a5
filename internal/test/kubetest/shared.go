package kubetest

import (
	"context"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shared is a cluster for all tests of a package that leave it as it was. It starts with the first of them, which has
// everything installed in it, and ends with the process. If a cluster is not possible, the test is skipped, or fails if
// $CI is set.
func Shared(t testing.TB, install ...func(*Cluster) error) *Cluster {
	t.Helper()
	Require(t)
	shared.once.Do(func() { shared.cluster, shared.err = upWith(install) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

var shared struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

func upWith(install []func(*Cluster) error) (*Cluster, error) {
	c, err := Up(context.Background(), Options{})
	if err != nil {
		return nil, err
	}
	for _, f := range install {
		if err := f(c); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Namespace makes a namespace of its own for a test, which is deleted with the test, and returns its name.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	made, err := c.Client.CoreV1().Namespaces().
		Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}},
			metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Client.CoreV1().Namespaces().Delete(context.Background(), made.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return made.Name
}

package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/core/ledger"
)

// TestStoreRestored: the API server's store is restored to an older state. What the ledger had applied since is seen to
// be missing and applied again: an edit, a creation, and a deletion. What was as it is stays unwritten.
func TestStoreRestored(t *testing.T) {
	s := newStage(t)
	var told []kubeclient.Restoration
	guard := kubeclient.NewGuard(func(r kubeclient.Restoration) { told = append(told, r) })
	s.run(func(c *Config) {
		c.REST = rest.CopyConfig(c.REST)
		c.REST.Wrap(guard.Wrap)
	})
	text := func(name, value string) string {
		return strings.NewReplacer("NAME", name, "VALUE", value).Replace(
			`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: "%s", name: NAME}, data: {key: VALUE}}`)
	}
	key := func(name string) ledger.Key { return s.edit(text(name, "")).Key }
	s.put(text("edited", "old"), text("deleted", "old"), text("same", "old"))
	for _, name := range []string{"edited", "deleted", "same"} {
		s.synced(key(name))
	}
	s.must(s.cluster.SaveStore(t.Context()))
	same := s.version(key("same"))
	s.others(30) // so that the numbers do not catch up
	s.put(text("edited", "new"), text("created", "new"))
	s.delete(key("deleted"))
	s.synced(key("edited"))
	s.synced(key("created"))
	s.forgotten(key("deleted"))
	s.must(s.cluster.RestoreStore(t.Context()))
	for _, name := range []string{"edited", "created"} {
		s.isThere(key(name), func(o *unstructured.Unstructured) bool { return field(o, "data", "key") == "new" })
		s.synced(key(name))
	}
	s.eventually(func() error {
		if s.live(key("deleted")) != nil {
			return fmt.Errorf("it is there")
		}
		return nil
	})
	if is := s.version(key("same")); is != same {
		t.Errorf("what is as it was was written: version %s, before %s", is, same)
	}
	if len(told) != 1 || told[0].Now >= told[0].Seen {
		t.Errorf("told %+v", told)
	}
}

// others makes objects that are not the ledger's.
func (s *stage) others(n int) {
	s.t.Helper()
	for i := range n {
		_, err := s.cluster.Client.CoreV1().ConfigMaps(s.namespace).Create(context.Background(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("other-", i)}}, metav1.CreateOptions{})
		s.must(err)
	}
}

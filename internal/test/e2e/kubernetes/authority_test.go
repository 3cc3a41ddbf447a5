package kubernetes

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAuthorityDeleted: the Secret of the authority that proxies trust is deleted, and then edited to nonsense. It is
// written again as it was, so no proxy loses its trust.
func TestAuthorityDeleted(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	ctx, secrets := context.Background(), s.Client.CoreV1().Secrets(system)
	before, err := secrets.Get(ctx, authority, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	asItWas := func(how string) {
		s.Helper()
		s.step("it is %s", how)
		s.until("the Secret is as it was", func() (string, bool) {
			now, err := secrets.Get(ctx, authority, metav1.GetOptions{})
			return fmt.Sprint(err), err == nil && now.ResourceVersion != before.ResourceVersion &&
				reflect.DeepEqual(now.Data, before.Data)
		})
	}
	if err := secrets.Delete(ctx, authority, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	asItWas("deleted")
	nonsense := before.DeepCopy()
	nonsense.ResourceVersion, nonsense.UID = "", ""
	for key := range nonsense.Data {
		nonsense.Data[key] = []byte("nonsense")
	}
	if _, err := secrets.Update(ctx, nonsense, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	asItWas("nonsense")
	s.kill(s.ready(s.namespace, proxiesOf("edge"), 1)[0])
	s.gets(address, "shop.example", "/", by("blue"))
	s.sentTo("green", address)
}

// TestAuthorityLost: the Secret is deleted while no Cardea runs that knows what was in it. The next one makes another
// authority, the proxies hear of it, and serve all the time.
func TestAuthorityLost(t *testing.T) {
	s := newStage(t)
	address := s.shop("edge")
	calls := s.traffic(100, address, by("blue", "green"), "shop.example")
	ctx := context.Background()
	s.scale(0)
	if err := s.Client.CoreV1().Secrets(system).Delete(ctx, authority, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.apply(route(s.namespace, "web", "edge", "shop.example", "green"))
	calls.moves(100)
	s.scale(1)
	s.gets(address, "shop.example", "/", by("green"))
	s.live("web")
	s.step("an edit is served")
	s.address("edge")
	calls.flawless()
}

// authority is the Secret of the authority that proxies trust.
const authority = "cardea-xds"

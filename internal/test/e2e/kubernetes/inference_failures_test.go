package kubernetes

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// failsOpen does what the suite does, which makes another pool's picker unavailable; then the picker of the pool that
// may fail open is gone, until there is another one.
func (s *inference) failsOpen() {
	s.route("closed", firstGateway, firstHost, toPools("/closed", "primary"))
	s.route("open", secondGateway, secondHost, toPools("/open", "secondary"))
	s.serves("closed", firstGateway, "primary")
	s.serves("open", secondGateway, "secondary")
	closed := inferenceCall{gateway: firstGateway, host: firstHost, path: "/closed"}
	open := inferenceCall{
		gateway: secondGateway, host: secondHost, path: "/open", only: s.addressesOf("secondary", 0),
	}
	s.comesTo("primary", closed)
	s.comesTo("secondary", open)

	s.serve(testedPools[0].pickerApp(), "nobody")
	s.becomes(closed, isStatus(http.StatusServiceUnavailable))
	s.comesTo("secondary", open)
	s.step("another pool's picker is unavailable")

	secondary := testedPools[1]
	s.deletePod(s.ready(s.namespace, "app="+secondary.pickerApp(), 1)[0])
	gone := unpicked("secondary")
	s.becomes(open, gone)
	pods := s.many(100, 10, open, func(a inferenceAnswer) error {
		if !gone(a) {
			return fmt.Errorf("%+v, want 200 by a pod that no picker has named", a)
		}
		return nil
	}, func(a inferenceAnswer) string { return a.Pod })
	if len(pods) != replicas {
		s.Errorf("the proxy has chosen %v, want all %d pods", pods, replicas)
	}
	s.step("its own picker is gone")

	s.create(s.picker(secondary))
	s.comesTo("secondary", open)
	s.serve(testedPools[0].pickerApp(), testedPools[0].pickerApp())
	s.comesTo("primary", closed)
	s.only100("secondary", open, 1)
}

// serve has a Service select the pods of an app.
func (s *inference) serve(service, app string) {
	s.Helper()
	if _, err := s.Client.CoreV1().Services(s.namespace).Patch(context.Background(), service, types.MergePatchType,
		fmt.Appendf(nil, `{"spec": {"selector": {"app": %q}}}`, app), metav1.PatchOptions{}); err != nil {
		s.Fatal(err)
	}
}

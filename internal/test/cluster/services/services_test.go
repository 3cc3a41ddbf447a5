package services

import (
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestAnEditedSliceIsNeverGone: whoever reads a Service's slices while one of them is edited sees the one of before or
// the one of after.
func TestAnEditedSliceIsNeverGone(t *testing.T) {
	s := &Services{
		dirty: map[types.NamespacedName]bool{}, wake: make(chan struct{}, 1),
		byName: map[types.NamespacedName]map[string]*discoveryv1.EndpointSlice{},
	}
	key := types.NamespacedName{Namespace: "default", Name: "web"}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: key.Name},
	}}
	s.sliceChanged(nil, slice)
	var edits sync.WaitGroup
	edits.Go(func() {
		for range 20_000 {
			edited := slice.DeepCopy()
			s.sliceChanged(slice, edited)
			slice = edited
		}
	})
	done := make(chan struct{})
	go func() { edits.Wait(); close(done) }()
	for {
		if len(s.slicesOf(key)) != 1 {
			t.Fatal("the Service has no slice")
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

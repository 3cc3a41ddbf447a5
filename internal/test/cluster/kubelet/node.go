package kubelet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeName is the name of the one node.
const nodeName = "node"

// retryPause is the pause between two tries of a request to the API server.
const retryPause = 200 * time.Millisecond

// nodeCapacity is more than any pod requests; usage is not counted.
var nodeCapacity = corev1.ResourceList{
	corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1Ti"),
	corev1.ResourcePods: resource.MustParse("1000"),
}

// register creates the Node object. Its health is not monitored, since this program is the node.
func (k *Kubelet) register(ctx context.Context) error {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   nodeName,
			Labels: map[string]string{corev1.LabelHostname: nodeName, corev1.LabelOSStable: "linux"},
		},
		Spec: corev1.NodeSpec{PodCIDR: k.PodRange.String(), PodCIDRs: []string{k.PodRange.String()}},
	}
	status := corev1.NodeStatus{
		Capacity: nodeCapacity, Allocatable: nodeCapacity,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: k.Address.String()}, {Type: corev1.NodeHostName, Address: nodeName},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(k.Port)}},
		Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
			Message:           "pods are simulated by processes",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}},
	}
	nodes := k.Client.CoreV1().Nodes()
	made, err := nodes.Create(ctx, node, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = nodes.Get(ctx, nodeName, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	k.nodeUID = made.UID
	made.Status = status
	_, err = nodes.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

// schedule binds a pod to the node. Every pod fits.
func (k *Kubelet) schedule(object *corev1.Pod) {
	if len(object.Spec.SchedulingGates) > 0 {
		return
	}
	k.running.Go(func() {
		binding := &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name, UID: object.UID},
			Target:     corev1.ObjectReference{Kind: "Node", Name: nodeName},
		}
		k.retry(k.ctx, func() error {
			err := k.Client.CoreV1().Pods(object.Namespace).Bind(k.ctx, binding, metav1.CreateOptions{})
			if now := k.pods.Get(object.Namespace, object.Name); now == nil || now.UID != object.UID || now.Spec.NodeName != "" {
				return nil
			}
			return err
		})
	})
}

// retry repeats a request until it succeeds, or its object is deleted, or ctx ends. No other answer is final: an API
// server without etcd answers with many kinds of errors, conflicts among them.
func (k *Kubelet) retry(ctx context.Context, request func() error) {
	for {
		err := request()
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		if !pause(ctx, retryPause) {
			return
		}
		k.Log.Debug("retrying a request", "error", err)
	}
}

// pause waits. It is false if ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

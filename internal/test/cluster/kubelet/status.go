package kubelet

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// report writes the pod's status whenever it differs from what the API server has, until ctx ends.
func (p *pod) report(ctx context.Context) {
	for {
		wake := p.changed.wait()
		if err := p.writeStatus(ctx); err != nil && !apierrors.IsNotFound(err) {
			if !pause(ctx, retryPause) {
				return
			}
			continue
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return
		}
	}
}

// writeStatus writes the status once, if it differs. It changes its own conditions only.
func (p *pod) writeStatus(ctx context.Context) error {
	p.mu.Lock()
	object := p.object
	status := p.currentStatus()
	p.mu.Unlock()
	if equality.Semantic.DeepEqual(object.Status, status) {
		return nil
	}
	patch, err := statusPatch(object, status)
	if err != nil {
		return err
	}
	written, err := p.kubelet.Client.CoreV1().Pods(object.Namespace).
		Patch(ctx, object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.object == object { // else a newer one has come, and rung
		p.object = written
	}
	return nil
}

// statusPatch is what makes the object's status the wanted one.
func statusPatch(object *corev1.Pod, status corev1.PodStatus) ([]byte, error) {
	before, err := json.Marshal(corev1.Pod{Status: object.Status})
	if err != nil {
		return nil, err
	}
	// The UID refuses the patch if another pod has the name by now.
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: object.UID}, Status: status})
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
}

// currentStatus is the status that the pod has now. mu is held.
func (p *pod) currentStatus() corev1.PodStatus {
	status := *p.object.Status.DeepCopy()
	status.Phase = p.phase()
	status.StartTime = &p.started
	status.HostIP = p.kubelet.Address.String()
	status.HostIPs = []corev1.HostIP{{IP: status.HostIP}}
	status.ObservedGeneration = p.object.Generation
	if p.network != nil {
		status.PodIP = p.network.Address.String()
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
	status.InitContainerStatuses, status.ContainerStatuses = statuses(p.init), statuses(p.main)

	all := status.Phase == corev1.PodRunning
	for _, m := range p.main {
		all = all && m.status.Ready
	}
	for _, m := range p.init {
		all = all && (!m.sidecar() || m.status.Ready)
	}
	gates := true
	for _, gate := range p.spec.ReadinessGates {
		gates = gates && slices.ContainsFunc(status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
	}
	done := ""
	if status.Phase == corev1.PodSucceeded {
		done = "PodCompleted"
	}
	for _, c := range []struct {
		kind   corev1.PodConditionType
		is     bool
		reason string
	}{
		{corev1.PodReadyToStartContainers, p.network != nil, ""},
		{corev1.PodInitialized, p.initialized, "ContainersNotInitialized"},
		{corev1.ContainersReady, all, "ContainersNotReady"},
		{corev1.PodReady, all && gates, "ContainersNotReady"},
	} {
		switch {
		case c.is:
			c.reason = ""
		case done != "":
			c.reason = done
		case c.kind == corev1.PodReady && all:
			c.reason = "ReadinessGatesNotReady"
		}
		setCondition(&status, c.kind, c.is, c.reason)
	}
	return status
}

// phase sums up the containers. mu is held.
func (p *pod) phase() corev1.PodPhase {
	if p.failed {
		return corev1.PodFailed
	}
	if !p.initialized {
		return corev1.PodPending
	}
	over, succeeded := true, true
	for _, m := range p.main {
		if m.status.State.Waiting != nil && m.status.LastTerminationState.Terminated == nil {
			return corev1.PodPending
		}
		over = over && m.over
		t := m.status.State.Terminated
		succeeded = succeeded && t != nil && t.ExitCode == 0
	}
	switch {
	case !over:
		return corev1.PodRunning
	case succeeded:
		return corev1.PodSucceeded
	}
	return corev1.PodFailed
}

func statuses(list []*member) []corev1.ContainerStatus {
	var all []corev1.ContainerStatus
	for _, m := range list {
		s := *m.status.DeepCopy()
		if m.init && !m.sidecar() { // an init container is ready when it has done its work
			s.Ready = s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		}
		all = append(all, s)
	}
	return all
}

// setCondition changes a condition; its time changes with its status.
func setCondition(status *corev1.PodStatus, kind corev1.PodConditionType, is bool, reason string) {
	new := corev1.PodCondition{
		Type: kind, Status: corev1.ConditionFalse, Reason: reason,
		LastTransitionTime: metav1.Now(), ObservedGeneration: status.ObservedGeneration,
	}
	if is {
		new.Status = corev1.ConditionTrue
	}
	i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		status.Conditions = append(status.Conditions, new)
		return
	}
	if old := &status.Conditions[i]; old.Status == new.Status {
		new.LastTransitionTime = old.LastTransitionTime
	}
	status.Conditions[i] = new
}

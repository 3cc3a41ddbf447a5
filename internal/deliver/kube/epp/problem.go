package epp

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// maxSilentRetries is after how many failures it is told that Cardea's own permissions are missing: an API server that
// starts refuses everything for a moment.
const maxSilentRetries = 6

// permissionAdvice is what mends missing permissions.
const permissionAdvice = "; apply deploy/install.yaml of this version"

// findProblem says why a picker does not run; "": it does, or begins to. A user or an operator has to mend what the
// cluster refuses, and a Deployment that gets no pods. Other errors are retried, and logged. retries is how often it
// was tried before.
func findProblem(deployed *unstructured.Unstructured, failed []error, retries int) string {
	for _, err := range failed {
		refused := apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
		// The API server has no other way to tell missing permissions from quotas and admission.
		missing := strings.Contains(err.Error(), ` is forbidden: User "`)
		switch {
		case refused && !missing:
			return err.Error()
		case refused && retries >= maxSilentRetries:
			return err.Error() + permissionAdvice
		}
	}
	if deployed == nil {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(deployed.Object, "status", "conditions") // another shape has none
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		status, message := fields["status"], fields["message"]
		switch fields["type"] {
		case string(appsv1.DeploymentReplicaFailure):
			if status == string(corev1.ConditionTrue) {
				return fmt.Sprintf("Deployment %s can't create its pods: %v", deployed.GetName(), message)
			}
		case string(appsv1.DeploymentProgressing):
			if status == string(corev1.ConditionFalse) {
				return fmt.Sprintf("Deployment %s: %v; see kubectl describe pods -l %s=%s", deployed.GetName(), message,
					instanceLabel, deployed.GetName())
			}
		}
	}
	return ""
}

// reportProblem tells why a picker does not run. problem is "" if it does, or begins to.
func (r *Runner) reportProblem(pool model.ObjectRef, problem string) {
	state := model.PickerState{}
	if problem != "" {
		state.Problem = "Cardea's picker can't be run: " + problem
	}
	r.mu.Lock()
	own := r.ensureRecord(pool)
	same := own.state != nil && *own.state == state
	own.state = &state
	r.mu.Unlock()
	if !same {
		r.cfg.Graph.Apply("picker", func(b *flow.Batch) { r.cfg.States.Set(b, pool, state) })
	}
}

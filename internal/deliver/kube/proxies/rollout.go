package proxies

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// progressDeadline is after how many seconds without progress a rollout is reported as stuck. Some clusters take
// minutes to add a node.
const progressDeadline = 180

// note is a problem of the running proxies that the user should know of; they may serve in spite of it.
type note struct{ reason, text string }

// rolloutNotes reports a rollout that makes no progress, in the words of the Deployment's own conditions: pods are not
// allowed, find no node, can't pull their image, end again and again. Older pods keep serving. It is nil if there is no
// problem.
func rolloutNotes(d *appsv1.Deployment) []note {
	if d == nil || d.DeletionTimestamp != nil {
		return nil
	}
	for _, c := range d.Status.Conditions {
		failed := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue ||
			c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
		if failed && d.Status.ObservedGeneration == d.Generation {
			return []note{{"RolloutStuck", fmt.Sprintf("Deployment %s makes no progress, see its pods: %s: %s", d.Name, c.Reason,
				c.Message)}}
		}
	}
	return nil
}

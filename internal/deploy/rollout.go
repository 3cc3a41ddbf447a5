package deploy

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// progressDeadline is after how long a rollout that gets nowhere is said to be stuck, in seconds. Some clusters take
// minutes to get another node.
const progressDeadline = 180

// note is something that the user should know of what runs, though it may serve.
type note struct{ reason, text string }

// rollout tells of a rollout that does not come to its end, in the words of the Deployment's own conditions: pods that
// are not allowed, that find no node, whose image can't be had, that end again and again. What runs already serves on.
// It is nil if all goes well.
func rollout(d *appsv1.Deployment) []note {
	if d == nil || d.DeletionTimestamp != nil {
		return nil
	}
	for _, c := range d.Status.Conditions {
		failed := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue ||
			c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
		if failed && d.Status.ObservedGeneration == d.Generation {
			return []note{{"RolloutStuck", fmt.Sprintf("Deployment %s gets no further, see its pods: %s: %s", d.Name, c.Reason,
				c.Message)}}
		}
	}
	return nil
}

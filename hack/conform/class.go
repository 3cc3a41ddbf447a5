package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"cardea.dev/cardea/internal/test/kubetest"
)

// classReady waits until the class is accepted and lists its features: the suite reads them once, when it starts.
func classReady(ctx context.Context, cluster *kubetest.Cluster) error {
	client, err := versioned.NewForConfig(cluster.Config)
	if err != nil {
		return err
	}
	last := errors.New("there is none")
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			class, err := client.GatewayV1().GatewayClasses().Get(ctx, "cardea", metav1.GetOptions{})
			if err != nil {
				last = err
				return false, nil
			}
			last = fmt.Errorf("its status is %+v", class.Status)
			return meta.IsStatusConditionTrue(class.Status.Conditions, "Accepted") && len(class.Status.SupportedFeatures) > 0,
				nil
		})
	if err != nil {
		return fmt.Errorf("the GatewayClass is not accepted: %w: %w", err, last)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/test/kubetest"
)

const (
	// namespace has all measured objects, system has Cardea.
	namespace = "bench"
	system    = "cardea-system"
	// ours selects Cardea's pods, proxies those of the Gateway.
	ours    = "app.kubernetes.io/name=cardea"
	proxies = "gateway.networking.k8s.io/gateway-name=web"
	// envoyImage is what proxies run.
	envoyImage = "envoyproxy/envoy"
	// stepTimeout is how long any step may take before it counts as failed.
	stepTimeout = 5 * time.Minute
)

// stage is a cluster with Cardea in it, one Gateway with one proxy, and a backend that all routes lead to.
type stage struct {
	*kubetest.Cluster
	api     *versioned.Clientset
	backend *backend
	proxy   *caller
	mark    int // of the last edit
	table   int // bytes of the route table that the floor has sent
}

// newStage does what the README says: it installs the CRDs of the Gateway API and of others, then
// deploy/install.yaml.
func newStage(ctx context.Context, cardea string) (s *stage, err error) {
	s = &stage{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		return s, err
	}
	images := map[string]kubetest.Program{}
	for image, path := range map[string]string{"cardea": cardea, envoyImage: binary} {
		path, err := filepath.Abs(path)
		if err != nil {
			return s, err
		}
		inside := "/usr/local/bin/" + filepath.Base(path)
		images[image] = kubetest.Program{Files: map[string]string{inside: path}, Entrypoint: []string{inside}}
	}
	if s.Cluster, err = kubetest.Up(ctx, kubetest.Options{Images: images}); err != nil {
		return s, err
	}
	if s.api, err = versioned.NewForConfig(s.Config); err != nil {
		return s, err
	}
	if err := s.InstallGatewayAPI(ctx, "experimental"); err != nil {
		return s, err
	}
	if err := s.ApplyFiles(ctx, "deploy/third-party-crds.yaml"); err != nil {
		return s, err
	}
	manifest, err := os.ReadFile("deploy/install.yaml")
	if err != nil {
		return s, err
	}
	if err := s.Apply(ctx, manifest); err != nil {
		return s, err
	}
	if s.backend, err = newBackend(kubetest.NodeAddress.String()); err != nil {
		return s, err
	}
	if err := s.Apply(ctx, []byte(gatewayText)); err != nil {
		return s, err
	}
	pod, err := s.pod(ctx, namespace, proxies)
	if err != nil {
		return s, err
	}
	s.proxy = newCaller(pod.Status.PodIP)
	return s, nil
}

// close stops everything.
func (s *stage) close() {
	if s.backend != nil {
		s.backend.close()
	}
	if s.Cluster != nil {
		s.Stop()
	}
}

// until waits for a condition; if it never holds, the error says why.
func until(ctx context.Context, what string, pause time.Duration, holds func() error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; last: %w", what, ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// lookPause is the pause between two checks of what is not measured.
const lookPause = 100 * time.Millisecond

// pod waits for the one pod that a selector finds to be ready.
func (s *stage) pod(ctx context.Context, namespace, selector string) (pod *corev1.Pod, err error) {
	err = until(ctx, "pod "+selector, lookPause, func() error {
		list, err := s.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		pod = &list.Items[0]
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("it is not ready")
	})
	return pod, err
}

// scale sets the number of Cardeas, 0 or 1.
func (s *stage) scale(ctx context.Context, replicas int) error {
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	_, err := s.Client.AppsV1().Deployments(system).Patch(ctx, "cardea", types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil || replicas > 0 {
		return errors.Join(err, s.quiet(ctx))
	}
	return until(ctx, "Cardea ends", lookPause, func() error {
		list, err := s.Client.CoreV1().Pods(system).List(ctx, metav1.ListOptions{LabelSelector: ours})
		if err == nil && len(list.Items) > 0 {
			err = errors.New("it still runs")
		}
		return err
	})
}

// progress prints what the program does, to standard error; the table goes to standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

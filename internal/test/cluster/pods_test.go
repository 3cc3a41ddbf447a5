package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// log reads a container's log.
func (p *place) log(name string, o corev1.PodLogOptions) (string, error) {
	stream, err := p.Client.CoreV1().Pods(p.namespace).GetLogs(name, &o).Stream(p.t.Context())
	if err != nil {
		return "", err
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	return string(text), err
}

// prints waits until a container has printed a text.
func (p *place) prints(name, text string) string {
	p.t.Helper()
	var all string
	p.eventually(func() (err error) {
		if all, err = p.log(name, corev1.PodLogOptions{}); err == nil && !strings.Contains(all, text) {
			err = errors.New(all)
		}
		return err
	})
	return all
}

func (p *place) delete(name string) {
	p.t.Helper()
	if err := p.Client.CoreV1().Pods(p.namespace).Delete(p.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// forever ends a script that stays until it is told to end.
const forever = "; trap 'exit 0' TERM; while :; do sleep 0.05; done"

// TestReadiness follows a pod from not ready to ready and back, and its endpoint with it.
func TestReadiness(t *testing.T) {
	p := newPlace(t)
	p.service("gated", corev1.ServiceTypeClusterIP, corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(3000)})
	p.pod("gated", "while :; do if [ -e /switch/on ]; then touch /tmp/ready; else rm -f /tmp/ready; fi; sleep 0.05; done",
		func(object *corev1.Pod) {
			c := &object.Spec.Containers[0]
			c.ReadinessProbe = &corev1.Probe{
				PeriodSeconds: 1, FailureThreshold: 1,
				ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/tmp/ready"}}},
			}
			optional := true
			object.Spec.Volumes = []corev1.Volume{{Name: "switch", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "switch"},
					Optional: &optional},
			}}}
			c.VolumeMounts = []corev1.VolumeMount{{Name: "switch", MountPath: "/switch"}}
		})
	p.until("gated", func(object *corev1.Pod) bool { return object.Status.Phase == corev1.PodRunning && !ready(object) })
	p.endpoint("gated", false)

	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "switch"}, Data: map[string]string{"on": ""}}
	configMap, err := p.Client.CoreV1().ConfigMaps(p.namespace).Create(t.Context(), configMap, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p.until("gated", ready)
	p.endpoint("gated", true)

	configMap.Data = map[string]string{"off": ""}
	if _, err := p.Client.CoreV1().ConfigMaps(p.namespace).Update(t.Context(), configMap,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.until("gated", func(object *corev1.Pod) bool { return !ready(object) })
	p.endpoint("gated", false)
}

// endpoint waits until a Service has one endpoint that is ready or not.
func (p *place) endpoint(service string, ready bool) {
	p.t.Helper()
	p.eventually(func() error {
		list, err := p.Client.DiscoveryV1().EndpointSlices(p.namespace).
			List(p.t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
		if err != nil {
			return err
		}
		for _, slice := range list.Items {
			for _, e := range slice.Endpoints {
				if *e.Conditions.Ready == ready {
					return nil
				}
			}
		}
		return fmt.Errorf("%+v", list.Items)
	})
}

// TestProbes has a pod that becomes ready by HTTP and TCP, and is restarted because it is not well.
func TestProbes(t *testing.T) {
	p := newPlace(t)
	p.pod("well", "", echo, func(object *corev1.Pod) {
		c := &object.Spec.Containers[0]
		c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 3000}}
		c.StartupProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(3000)},
		}}
		c.ReadinessProbe = &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/health", Port: intstr.FromString("http")},
		}}
	})
	p.until("well", ready)

	seconds := int64(1) // the first probe may come before the shell knows what to do when it is told to end
	p.pod("unwell", "echo here"+forever, func(object *corev1.Pod) {
		object.Spec.TerminationGracePeriodSeconds = &seconds
		object.Spec.Containers[0].LivenessProbe = &corev1.Probe{
			PeriodSeconds: 1, FailureThreshold: 1,
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(3000)}},
		}
	})
	p.until("unwell", func(object *corev1.Pod) bool {
		return len(object.Status.ContainerStatuses) == 1 && object.Status.ContainerStatuses[0].RestartCount > 0
	})
}

// TestKill kills a container: it runs again, counts it, and keeps what it said before.
func TestKill(t *testing.T) {
	p := newPlace(t)
	p.pod("victim", "echo run $(cat /proc/sys/kernel/random/uuid); exec sleep 1000")
	p.until("victim", ready)
	before := p.prints("victim", "run")
	if err := p.KillPod(p.namespace, "victim"); err != nil {
		t.Fatal(err)
	}
	after := p.until("victim", func(object *corev1.Pod) bool {
		return ready(object) && object.Status.ContainerStatuses[0].RestartCount == 1
	})
	if last := after.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil || last.ExitCode != 137 {
		t.Errorf("last state: %+v", last)
	}
	if now := p.prints("victim", "run"); now == before {
		t.Errorf("the log is still %q", now)
	}
	if previous, err := p.log("victim", corev1.PodLogOptions{Previous: true}); err != nil || previous != before {
		t.Errorf("the previous log is %q (%v), want %q", previous, err, before)
	}
}

// TestDeletion stops programs gently: the preStop hook, SIGTERM, and SIGKILL for one that won't hear.
func TestDeletion(t *testing.T) {
	p := newPlace(t)
	p.pod("gentle", "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05; done", func(object *corev1.Pod) {
		object.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"sh", "-c",
				"echo hook >/proc/1/fd/1"}}},
		}
	})
	p.prints("gentle", "up")
	follow := make(chan string)
	go func() {
		text, err := p.log("gentle", corev1.PodLogOptions{Follow: true})
		follow <- fmt.Sprint(text, err)
	}()
	p.delete("gentle")
	if text := <-follow; !strings.HasPrefix(text, "up\nhook\ntold\n") {
		t.Errorf("its last words are %q", text)
	}

	p.pod("deaf", "trap '' TERM; echo up; while :; do sleep 0.05; done", func(object *corev1.Pod) {
		seconds := int64(1)
		object.Spec.TerminationGracePeriodSeconds = &seconds
	})
	p.prints("deaf", "up")
	p.delete("deaf")
	for _, name := range []string{"gentle", "deaf"} {
		p.eventually(func() error {
			_, err := p.Client.CoreV1().Pods(p.namespace).Get(t.Context(), name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%s is still there: %w", name, err)
		})
	}
}

// TestOneAfterTheOther runs init containers in order, a sidecar beside, and a pod to its end.
func TestOneAfterTheOther(t *testing.T) {
	p := newPlace(t)
	always := corev1.ContainerRestartPolicyAlways
	started := &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
		Exec: &corev1.ExecAction{Command: []string{"test", "-e", "/work/sidecar"}},
	}}
	p.pod("steps", "cat /work/1 /work/2", func(object *corev1.Pod) {
		object.Spec.RestartPolicy = corev1.RestartPolicyNever
		object.Spec.Volumes = []corev1.Volume{{Name: "work",
			VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		mounts := []corev1.VolumeMount{{Name: "work", MountPath: "/work"}}
		object.Spec.Containers[0].VolumeMounts = mounts
		for _, c := range []corev1.Container{
			{Name: "one", Args: []string{"sleep 0.2; echo one >/work/1"}},
			{Name: "beside", Args: []string{"sleep 0.2; touch /work/sidecar" + forever}, RestartPolicy: &always,
				StartupProbe: started},
			{Name: "two", Args: []string{"test -e /work/sidecar && cat /work/1 >/work/2 && echo two >>/work/2"}},
		} {
			c.Image, c.VolumeMounts = "shell", mounts
			object.Spec.InitContainers = append(object.Spec.InitContainers, c)
		}
	})
	p.until("steps", func(object *corev1.Pod) bool { return object.Status.Phase == corev1.PodSucceeded })
	if text, err := p.log("steps", corev1.PodLogOptions{Container: "main"}); text != "one\none\ntwo\n" {
		t.Errorf("%q %v", text, err)
	}

	p.pod("fails", "exit 3", func(object *corev1.Pod) { object.Spec.RestartPolicy = corev1.RestartPolicyNever })
	failed := p.until("fails", func(object *corev1.Pod) bool { return object.Status.Phase == corev1.PodFailed })
	if code := failed.Status.ContainerStatuses[0].State.Terminated.ExitCode; code != 3 {
		t.Error(code)
	}
}

// TestRefused has pods that can't run, and say why.
func TestRefused(t *testing.T) {
	p := newPlace(t)
	nonRoot := true
	for name, c := range map[string]struct {
		change       func(*corev1.Pod)
		reason, text string
	}{
		"image": {func(object *corev1.Pod) { object.Spec.Containers[0].Image = "nobody/knows:v1" }, "ErrImagePull",
			"the known images are"},
		"root": {func(object *corev1.Pod) {
			object.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &nonRoot}
		}, "CreateContainerConfigError", "runAsNonRoot"},
		"command": {func(object *corev1.Pod) { object.Spec.Containers[0].Command = []string{"/no/such"} },
			"RunContainerError", "no such file"},
		"key": {func(object *corev1.Pod) {
			object.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X",
				ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}}}
			object.Spec.Containers[0].Env[0].ValueFrom.SecretKeyRef.Name = "nosuch"
		}, "CreateContainerConfigError", "not found"},
	} {
		p.pod(name, "true", c.change)
		p.until(name, func(object *corev1.Pod) bool {
			return len(object.Status.ContainerStatuses) == 1 && object.Status.ContainerStatuses[0].State.Waiting != nil &&
				object.Status.ContainerStatuses[0].State.Waiting.Reason == c.reason &&
				strings.Contains(object.Status.ContainerStatuses[0].State.Waiting.Message, c.text)
		})
	}
}

// TestEnvironment shows what a program is told.
func TestEnvironment(t *testing.T) {
	p := newPlace(t)
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"},
		Data: map[string]string{"A": "1", "B": "2"}}
	if _, err := p.Client.CoreV1().ConfigMaps(p.namespace).Create(t.Context(), configMap,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	user := int64(7)
	p.pod("told", `echo "$IP $X_A $B $JOINED $(id -u) $KUBERNETES_SERVICE_HOST $(B)" '$$(B)'`+forever,
		func(object *corev1.Pod) {
			object.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user}
			c := &object.Spec.Containers[0]
			of := corev1.LocalObjectReference{Name: "settings"}
			c.EnvFrom = []corev1.EnvFromSource{{Prefix: "X_",
				ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: of}}}
			c.Env = []corev1.EnvVar{
				{Name: "IP", ValueFrom: field("status.podIP")},
				{Name: "B", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: of,
					Key: "B"}}},
				{Name: "JOINED", Value: "$(X_A)-$(B)-$(NONE)"},
			}
		})
	object := p.until("told", ready)
	if text, want := p.prints("told", "\n"), object.Status.PodIP+" 1 2 1-2-$(NONE) 7 10.96.0.1 2 $(B)\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// TestLog reads logs as the API allows.
func TestLog(t *testing.T) {
	p := newPlace(t)
	p.pod("speaker", "echo one; echo two; sleep 2.1; echo three; printf four"+forever)
	p.prints("speaker", "two\n")
	early := metav1.Now()
	p.prints("speaker", "three\n")
	one, two := int64(1), int64(2)
	for name, c := range map[string]struct {
		o    corev1.PodLogOptions
		want string
	}{
		"tail":       {corev1.PodLogOptions{TailLines: &one}, "three\n"},
		"since time": {corev1.PodLogOptions{SinceTime: &metav1.Time{Time: early.Add(time.Second)}}, "three\n"},
		"limit":      {corev1.PodLogOptions{LimitBytes: &two}, "on"},
	} {
		if text, err := p.log("speaker", c.o); err != nil || text != c.want {
			t.Errorf("%s: %q %v, want %q", name, text, err, c.want)
		}
	}
	text, err := p.log("speaker", corev1.PodLogOptions{Timestamps: true, TailLines: &one})
	at, rest, _ := strings.Cut(text, " ")
	if _, parseErr := time.Parse(time.RFC3339Nano, at); parseErr != nil || rest != "three\n" || err != nil {
		t.Errorf("%q %v", text, err)
	}

	// A follower gets each line as it comes.
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	p.pod("ticker", "trap 'echo last; exit' TERM; echo first; while :; do sleep 0.05; done")
	p.prints("ticker", "first\n")
	stream, err := p.Client.CoreV1().Pods(p.namespace).GetLogs("ticker", &corev1.PodLogOptions{Follow: true}).Stream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for _, want := range []string{"first\n", "last\n"} {
		line := make([]byte, len(want))
		if _, err := io.ReadFull(stream, line); err != nil || string(line) != want {
			t.Fatalf("%q %v", line, err)
		}
		if want == "first\n" {
			p.delete("ticker")
		}
	}
}

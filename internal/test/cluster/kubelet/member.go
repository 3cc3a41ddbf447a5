package kubelet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/test/cluster/container"
)

// The pause before a container starts again doubles from first to last: as in a kubelet with
// ReduceDefaultCrashLoopBackOffDecay.
const (
	firstBackoff = time.Second
	lastBackoff  = time.Minute
	steady       = 10 * time.Minute // after a run of this length, the pause begins at first again
)

// leastGrace is the time that a program has between SIGTERM and SIGKILL, even if its preStop hook took the whole grace
// period.
const leastGrace = 2 * time.Second

// member is a container of a pod.
type member struct {
	pod  *pod
	spec *corev1.Container
	init bool

	// Guarded by pod.mu.
	status   corev1.ContainerStatus
	over     bool // it does not run again
	process  *container.Process
	log      *log // of this run
	previous *log
}

func newMember(p *pod, c *corev1.Container, init bool) *member {
	m := &member{pod: p, spec: c, init: init}
	started := false
	m.status = corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: &started}
	m.status.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	if !init && len(p.spec.InitContainers) > 0 || init {
		m.status.State.Waiting.Reason = "PodInitializing"
	}
	return m
}

// sidecar reports whether this is an init container that runs beside the others.
func (m *member) sidecar() bool {
	return m.init && deref(m.spec.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// run keeps the container running as its restart policy says, until life ends. It reports whether the last run
// succeeded.
func (m *member) run(life, grace context.Context) (succeeded bool) {
	defer m.pod.set(func() { m.over = true })
	backoff := time.Duration(0)
	for life.Err() == nil {
		process, err := m.start()
		if err != nil {
			m.wait(err)
			if !m.pauseUnlessChanged(life) {
				return false
			}
			continue
		}
		began := time.Now()
		exit := m.supervise(life, grace, process)
		succeeded = exit.Code == 0
		if life.Err() != nil || !m.restarts(succeeded) {
			return succeeded
		}
		if time.Since(began) > steady {
			backoff = 0
		}
		if backoff > 0 {
			m.wait(&reasonError{"CrashLoopBackOff", fmt.Sprintf("back-off %v restarting container %s", backoff, m.spec.Name)})
			if !pause(life, backoff) {
				return succeeded
			}
		}
		backoff = min(max(firstBackoff, 2*backoff), lastBackoff)
		m.pod.set(func() { m.status.RestartCount++ })
	}
	return succeeded
}

// restarts reports whether the container runs again after it has ended by itself.
func (m *member) restarts(succeeded bool) bool {
	switch policy := m.pod.spec.RestartPolicy; {
	case m.sidecar():
		return true
	case m.init:
		return !succeeded && policy != corev1.RestartPolicyNever
	default:
		return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && !succeeded
	}
}

// start starts the program once.
func (m *member) start() (*container.Process, error) {
	spec, err := m.containerSpec()
	if err != nil {
		return nil, err
	}
	log := newLog()
	process, err := container.Start(m.pod.network, spec, log.writer(), log.writer())
	if errors.Is(err, container.ErrStart) {
		return nil, &reasonError{"RunContainerError", err.Error()}
	}
	if err != nil {
		return nil, err
	}
	m.pod.set(func() {
		m.previous, m.log, m.process = m.log, log, process
		started := m.spec.StartupProbe == nil
		m.status.Started, m.status.Ready = &started, started && m.spec.ReadinessProbe == nil
		m.status.ImageID = m.spec.Image
		m.status.ContainerID = fmt.Sprintf("process://%s-%s-%d", m.pod.object.UID, m.spec.Name, m.status.RestartCount)
		m.keepLast()
		m.status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	})
	return process, nil
}

// supervise watches a running program until it ends: it probes it, and stops it if a probe fails or life ends.
func (m *member) supervise(life, grace context.Context, process *container.Process) container.Exit {
	probing, endProbes := context.WithCancel(context.Background())
	unwell := make(chan string, 1)
	probesEnded := m.probe(probing, process, unwell)
	if hook := m.hook(func(l *corev1.Lifecycle) *corev1.LifecycleHandler { return l.PostStart }); hook != nil {
		if err := m.handle(life, process, hook); err != nil && life.Err() == nil {
			process.Kill()
		}
	}
	select {
	case <-process.Done():
	case why := <-unwell:
		m.pod.kubelet.Log.Info("a probe failed", "container", m.spec.Name, "why", why)
		stopping, cancel := context.WithTimeout(grace, m.gracePeriod())
		m.stop(stopping, process)
		cancel()
	case <-life.Done():
		stopping, cancel := grace, func() {}
		if m.pod.latest().DeletionTimestamp == nil { // a sidecar of a pod that has done its work
			stopping, cancel = context.WithTimeout(grace, m.gracePeriod())
		}
		m.stop(stopping, process)
		cancel()
	}
	endProbes()
	<-probesEnded
	return m.ended(process)
}

// gracePeriod is what a container has that is stopped because a probe failed.
func (m *member) gracePeriod() time.Duration {
	seconds := deref(m.pod.spec.TerminationGracePeriodSeconds, 30)
	if l := m.spec.LivenessProbe; l != nil {
		seconds = deref(l.TerminationGracePeriodSeconds, seconds)
	}
	return time.Duration(seconds) * time.Second
}

// stop ends a program: the preStop hook, SIGTERM, and SIGKILL when grace is over.
func (m *member) stop(grace context.Context, process *container.Process) {
	if hook := m.hook(func(l *corev1.Lifecycle) *corev1.LifecycleHandler { return l.PreStop }); hook != nil {
		if err := m.handle(grace, process, hook); err != nil {
			m.pod.kubelet.Log.Info("a preStop hook has failed", "container", m.spec.Name, "error", err)
		}
		if m.pod.latest().DeletionTimestamp != nil && grace.Err() != nil {
			var cancel func()
			grace, cancel = context.WithTimeout(m.pod.kubelet.ctx, leastGrace)
			defer cancel()
		}
	}
	process.Terminate()
	select {
	case <-process.Done():
	case <-grace.Done():
		process.Kill()
		<-process.Done()
	}
}

// ended records how the program has ended.
func (m *member) ended(process *container.Process) container.Exit {
	exit := process.Exit()
	m.log.end()
	reason := "Completed"
	if exit.Code != 0 {
		reason = "Error"
	}
	m.pod.set(func() {
		terminated := &corev1.ContainerStateTerminated{
			ExitCode: int32(exit.Code), Reason: reason, FinishedAt: metav1.Now(), ContainerID: m.status.ContainerID,
		}
		if running := m.status.State.Running; running != nil {
			terminated.StartedAt = running.StartedAt
		}
		if exit.Code != 0 && m.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
			terminated.Message = strings.Join(m.log.tail(20), "\n")
		}
		started := false
		m.status.Started, m.status.Ready, m.process = &started, false, nil
		m.status.State = corev1.ContainerState{Terminated: terminated}
	})
	return exit
}

// kill ends the program by SIGKILL. It is false if none runs.
func (m *member) kill() bool {
	m.pod.mu.Lock()
	defer m.pod.mu.Unlock()
	if m.process != nil {
		m.process.Kill()
	}
	return m.process != nil
}

// wait says why the container does not run.
func (m *member) wait(why error) {
	reason := "CreateContainerError"
	if known := (*reasonError)(nil); errors.As(why, &known) {
		reason = known.reason
	}
	m.pod.set(func() {
		m.keepLast()
		m.status.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: why.Error()}}
	})
}

// keepLast keeps the end of the last run before the state changes. pod.mu is held.
func (m *member) keepLast() {
	if m.status.State.Terminated != nil {
		m.status.LastTerminationState = m.status.State
	}
}

// pauseUnlessChanged waits a second, or until something has changed that the container is made from. It is false if
// life ended.
func (m *member) pauseUnlessChanged(life context.Context) bool {
	select {
	case <-m.pod.sourcesChanged.wait():
	case <-time.After(firstBackoff):
	case <-life.Done():
	}
	return life.Err() == nil
}

// awaitStart returns when the container counts as started, or life ended.
func (m *member) awaitStart(life context.Context) {
	for life.Err() == nil {
		wake := m.pod.changed.wait()
		m.pod.mu.Lock()
		started := *m.status.Started
		m.pod.mu.Unlock()
		if started {
			return
		}
		select {
		case <-wake:
		case <-life.Done():
		}
	}
}

func (m *member) hook(of func(*corev1.Lifecycle) *corev1.LifecycleHandler) *corev1.LifecycleHandler {
	if m.spec.Lifecycle == nil {
		return nil
	}
	return of(m.spec.Lifecycle)
}

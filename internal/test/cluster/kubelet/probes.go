package kubelet

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/test/cluster/container"
)

// probe runs the container's probes until ctx ends: the startup probe first, then the others. It sets started and
// ready, and says on unwell why the container is to be restarted. What it returns is closed when no probe runs any
// more.
func (m *member) probe(ctx context.Context, process *container.Process, unwell chan<- string) <-chan struct{} {
	var running sync.WaitGroup
	restart := func(why string) {
		select {
		case unwell <- why:
		default: // it is known
		}
	}
	afterStart := func() {
		if m.spec.ReadinessProbe != nil {
			running.Go(func() {
				m.repeat(ctx, process, m.spec.ReadinessProbe, func(well bool, _ error) bool {
					m.pod.set(func() { m.status.Ready = well })
					return true
				})
			})
		}
		if m.spec.LivenessProbe != nil {
			running.Go(func() {
				m.repeat(ctx, process, m.spec.LivenessProbe, func(well bool, err error) bool {
					if !well {
						restart("liveness probe: " + err.Error())
					}
					return well
				})
			})
		}
	}
	if m.spec.StartupProbe == nil {
		afterStart()
	} else {
		running.Go(func() {
			m.repeat(ctx, process, m.spec.StartupProbe, func(well bool, err error) bool {
				if !well {
					restart("startup probe: " + err.Error())
					return false
				}
				started := true
				m.pod.set(func() { m.status.Started, m.status.Ready = &started, m.spec.ReadinessProbe == nil })
				afterStart()
				return false
			})
		})
	}
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	return ended
}

// repeat probes until ctx ends or result says that it is enough. result is told when the probe's thresholds are
// reached.
func (m *member) repeat(
	ctx context.Context, process *container.Process, probe *corev1.Probe, result func(well bool, err error) (more bool),
) {
	if !pause(ctx, time.Duration(probe.InitialDelaySeconds)*time.Second) {
		return
	}
	successes, failures := int32(0), int32(0)
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Duration(max(1, probe.TimeoutSeconds))*time.Second)
		err := m.try(attempt, process, handler{probe.HTTPGet, probe.TCPSocket, probe.Exec, probe.GRPC, nil})
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			successes, failures = successes+1, 0
		} else {
			successes, failures = 0, failures+1
		}
		more := true
		switch {
		case successes >= max(1, probe.SuccessThreshold):
			more = result(true, nil)
		case failures >= max(1, probe.FailureThreshold):
			more = result(false, err)
		}
		if !more || !pause(ctx, time.Duration(max(1, probe.PeriodSeconds))*time.Second) {
			return
		}
	}
}

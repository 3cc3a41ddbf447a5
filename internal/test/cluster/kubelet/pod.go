package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/test/cluster/container"
)

// pod runs one pod.
type pod struct {
	// Set by newPod.
	kubelet *Kubelet
	spec    *corev1.PodSpec
	dir     string
	sources map[source]bool // what its volumes show
	init    []*member
	main    []*member

	// Set while the pod is set up, before a container runs.
	network      *container.Network
	volumes      map[string]*volume
	certificates map[string]*certificate // by volume and path; a volume that can't be shown yet keeps what it asked for

	changed        notifier // a member's status, or object
	sourcesChanged notifier
	present        context.Context // ends when the object is gone
	gone           func()          // says that it is

	mu          sync.Mutex // guards what follows and the members' status
	object      *corev1.Pod
	initialized bool
	failed      bool // an init container has failed for good
	started     metav1.Time
}

func newPod(k *Kubelet, object *corev1.Pod) *pod {
	p := &pod{
		kubelet: k, spec: &object.Spec, object: object, started: metav1.Now(),
		dir: filepath.Join(k.Dir, string(object.UID)), volumes: map[string]*volume{}, certificates: map[string]*certificate{},
	}
	p.present, p.gone = context.WithCancel(k.ctx)
	p.sources = sourcesOf(object)
	for i := range p.spec.InitContainers {
		p.init = append(p.init, newMember(p, &p.spec.InitContainers[i], true))
	}
	for i := range p.spec.Containers {
		p.main = append(p.main, newMember(p, &p.spec.Containers[i], false))
	}
	return p
}

// members are all containers.
func (p *pod) members() []*member { return append(append([]*member(nil), p.init...), p.main...) }

// update takes a new version of the object.
func (p *pod) update(object *corev1.Pod) {
	p.mu.Lock()
	p.object = object
	p.mu.Unlock()
	p.changed.notify()
	p.sourcesChanged.notify() // labels and annotations may be in a volume
}

// latest is the newest version of the object.
func (p *pod) latest() *corev1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.object
}

// run runs the pod until its object is deleted or ctx ends.
func (p *pod) run(ctx context.Context) {
	// life ends when the pod is to end, grace when it must have ended.
	life, endLife := context.WithCancel(ctx)
	grace, endGrace := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { p.watchDeletion(endLife, endGrace) })
	reporting, endReports := context.WithCancel(ctx)
	var reports sync.WaitGroup
	reports.Go(func() { p.report(reporting) })
	defer func() {
		endLife()
		endGrace()
		endReports()
		reports.Wait()
		beside.Wait()
	}()

	if err := p.setUp(life); err == nil {
		beside.Go(func() { p.keepVolumes(life) })
		p.runContainers(ctx, life, grace)
	}
	<-life.Done() // a completed pod stays until it is deleted
	endReports()
	reports.Wait()
	p.tearDown()
	p.kubelet.retry(p.present, func() error { return p.writeStatus(p.present) })
	p.kubelet.retry(p.present, func() error {
		object := p.latest()
		now := metav1.NewDeleteOptions(0)
		now.Preconditions = &metav1.Preconditions{UID: &object.UID}
		return p.kubelet.Client.CoreV1().Pods(object.Namespace).Delete(p.present, object.Name, *now)
	})
	<-p.present.Done()
}

// watchDeletion ends the pod's life when its deletion is asked for, and its grace when that is over, or when the object
// is gone.
func (p *pod) watchDeletion(endLife, endGrace func()) {
	var end time.Time
	overdue := make(<-chan time.Time)
	for {
		wake := p.changed.wait()
		if object := p.latest(); object.DeletionTimestamp != nil {
			endLife()
			// A later request may shorten the grace.
			left := time.Duration(deref(object.DeletionGracePeriodSeconds, 0)) * time.Second
			if until := time.Now().Add(left); end.IsZero() || until.Before(end) {
				end, overdue = until, time.After(left)
			}
		}
		select {
		case <-wake:
			continue
		case <-overdue:
		case <-p.present.Done():
		}
		endLife()
		endGrace()
		return
	}
}

// setUp makes the network and the volumes. It tries until it can or life ends.
func (p *pod) setUp(life context.Context) error {
	for {
		wake := p.sourcesChanged.wait()
		err := p.trySetUp(life)
		if err == nil {
			return nil
		}
		p.mu.Lock()
		for _, m := range p.members() {
			m.status.State.Waiting.Message = err.Error()
		}
		p.mu.Unlock()
		p.changed.notify()
		select {
		case <-wake:
		case <-time.After(time.Second): // not everything that can be missing is watched
		case <-life.Done():
			return life.Err()
		}
	}
}

func (p *pod) trySetUp(life context.Context) error {
	if err := life.Err(); err != nil {
		return err
	}
	if p.network == nil {
		address, err := p.kubelet.addresses.take()
		if err != nil {
			return err
		}
		sysctls := map[string]string{}
		if s := p.spec.SecurityContext; s != nil {
			for _, c := range s.Sysctls {
				sysctls[c.Name] = c.Value
			}
		}
		network, err := container.NewNetwork(address, p.kubelet.Address, sysctls)
		if err != nil {
			p.kubelet.addresses.release(address)
			return err
		}
		p.mu.Lock()
		p.network = network
		p.mu.Unlock()
		p.changed.notify()
	}
	for i := range p.spec.Volumes {
		v := &p.spec.Volumes[i]
		if err := p.mountVolume(life, v); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	return nil
}

// tearDown undoes setUp.
func (p *pod) tearDown() {
	if p.network != nil {
		p.network.Close()
		p.kubelet.addresses.release(p.network.Address)
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.kubelet.Log.Warn("can't remove a pod's folder", "error", err)
	}
}

// runContainers runs the init containers one after the other, then the others at once, and returns when all have ended.
// Init containers that restart always (sidecars) run beside them, and end last.
func (p *pod) runContainers(ctx, life, grace context.Context) {
	beside, endBeside := context.WithCancel(ctx)
	var sidecars, others sync.WaitGroup
	defer sidecars.Wait()
	defer endBeside()
	for _, m := range p.init {
		if m.sidecar() {
			sidecars.Go(func() { m.run(beside, grace) })
			m.awaitStart(life)
		} else if !m.run(life, grace) && life.Err() == nil {
			p.set(func() { p.failed = true })
			return
		}
		if life.Err() != nil {
			return
		}
	}
	p.set(func() { p.initialized = true })
	for _, m := range p.main {
		others.Go(func() { m.run(life, grace) })
	}
	others.Wait()
}

// set changes the state of the pod and its members, and notifies.
func (p *pod) set(change func()) {
	p.mu.Lock()
	change()
	p.mu.Unlock()
	p.changed.notify()
}

func deref[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

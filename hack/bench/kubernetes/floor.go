package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/hack/bench/floor"
	"cardea.dev/cardea/hack/bench/table"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
	"cardea.dev/cardea/internal/source/kube"
)

// floors are lower bounds of the times that the parts of an edit take.
type floors struct {
	event  time.Duration // from an API write to a watch event of it
	ack    time.Duration // from a bare push of the table to Envoy's ACK
	answer time.Duration // from there to the first changed answer
	bytes  int           // of a table
}

// floor measures them while no Cardea runs.
func (s *stage) floor(ctx context.Context) (f floors, err error) {
	if err := s.scale(ctx, 0); err != nil {
		return f, err
	}
	if f.event, err = s.eventFloor(ctx); err != nil {
		return f, err
	}
	if err := s.pushFloor(ctx, &f); err != nil {
		return f, err
	}
	return f, s.scale(ctx, 1)
}

// eventFloor is the time from before a write to the watch event of it.
func (s *stage) eventFloor(ctx context.Context) (time.Duration, error) {
	var took []time.Duration
	err := calmly(func() error {
		return s.watching(ctx, edited, func(f *follower) error {
			for range watched {
				began := time.Now()
				_, generation, err := s.edit(ctx, edited)
				if err != nil {
					return err
				}
				at, err := f.made(generation)
				if err != nil {
					return err
				}
				took = append(took, at.Sub(began))
			}
			return nil
		})
	})
	if err != nil {
		return 0, err
	}
	return table.Median(took), nil
}

// pushFloor makes the same number of edits, translates each in a world of its own, and pushes the table to a bare Envoy
// in a pod.
func (s *stage) pushFloor(ctx context.Context, f *floors) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := s.world(ctx)
	if err != nil {
		return err
	}
	server := floor.New(floor.All(w, xdstypes.All()...))
	bare, stop, err := s.bareEnvoy(ctx, server)
	if err != nil {
		return err
	}
	defer stop()
	if _, err := bare.sees(ctx, edited, markOf(s.mark)); err != nil {
		return err
	}
	return calmly(func() error { return s.push(ctx, w, server, bare, f) })
}

// push pushes the tables.
func (s *stage) push(ctx context.Context, w *world.World, server *floor.Server, bare *caller, f *floors) error {
	var acks, answers []time.Duration
	for i := range 2 * watched {
		mark, _, err := s.edit(ctx, edited)
		if err != nil {
			return err
		}
		t, err := tableWith(ctx, w, mark)
		if err != nil {
			return err
		}
		f.bytes = len(t.GetResource().GetValue())
		began := time.Now()
		server.Push(t)
		if i >= watched {
			if _, err := bare.sees(ctx, edited, mark); err != nil {
				return err
			}
			answers = append(answers, time.Since(began))
		}
		if err := server.Acked(mark); err != nil {
			return err
		}
		if i < watched {
			acks = append(acks, time.Since(began))
		}
	}
	f.ack, f.answer = table.Median(acks), table.Median(answers)
	return nil
}

// world is the pure part for the cluster, in this program and without proxies, until ctx ends.
func (s *stage) world(ctx context.Context) (*world.World, error) {
	environment := model.Environment{Version: bootstrap.Version, Addresses: []string{"0.0.0.0"}, Fronted: true}
	w := world.New(world.Config{Dialects: dataplanes.All(), Environment: environment, Budgets: model.DefaultBudgets})
	edge, err := kube.New(kube.Config{REST: s.Config, Graph: w.Graph, Sources: w.Sources.Sources,
		OnState: func(s kube.State) {
			environment.APIs = s.BundleVersions()
			w.SetEnvironment(environment)
		}})
	if err != nil {
		return nil, err
	}
	go func() { _ = edge.Run(ctx) }()
	return w, until(ctx, "the cluster is read", lookPause, func() error {
		if !edge.State().Synced {
			return errors.New("it is not read")
		}
		w.Graph.Settle()
		return nil
	})
}

// tableWith waits until a world has a mark, and returns its route table under that name.
func tableWith(ctx context.Context, w *world.World, mark string) (t *discoveryv3.Resource, err error) {
	return t, until(ctx, "the table has "+mark, 10*time.Millisecond, func() error {
		w.Graph.Settle()
		if t = floor.Table(w, mark); !bytes.Contains(t.GetResource().GetValue(), []byte(mark)) {
			return errors.New("it has not")
		}
		return nil
	})
}

// bareEnvoy runs an Envoy in a pod, configured by a bare server over a Unix socket.
func (s *stage) bareEnvoy(ctx context.Context, server *floor.Server) (c *caller, stop func(), err error) {
	dir, err := os.MkdirTemp("/run", "floor-") // which only the sandbox sees, and which goes with it
	if err != nil {
		return nil, nil, err
	}
	stopServer, err := server.Listen(filepath.Join(dir, "xds"))
	if err != nil {
		return nil, nil, err
	}
	const inside = "/floor"
	config, err := bootstrap.Render(bootstrap.Config{
		NodeID: "bench/web", NodeCluster: "bench", XDSSocket: inside + "/xds", AdminSocket: inside + "/admin",
	})
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "bootstrap.json"), config, 0o600); err != nil {
		return nil, nil, err
	}
	now := int64(0)
	pods := s.Client.CoreV1().Pods(namespace)
	folder := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "floor", Labels: map[string]string{"app": "floor"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &now,
			Volumes:                       []corev1.Volume{{Name: "floor", VolumeSource: folder}},
			Containers: []corev1.Container{{
				Name: "envoy", Image: envoyImage,
				Command:      append(append([]string{"envoy"}, bootstrap.Flags()...), "--config-path", inside+"/bootstrap.json"),
				VolumeMounts: []corev1.VolumeMount{{Name: "floor", MountPath: inside}},
			}},
		},
	}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return nil, nil, err
	}
	if pod, err = s.pod(ctx, namespace, "app=floor"); err != nil {
		return nil, nil, err
	}
	return newCaller(pod.Status.PodIP), func() {
		err := pods.Delete(ctx, "floor", metav1.DeleteOptions{GracePeriodSeconds: &now})
		err = errors.Join(err, until(ctx, "the floor's pod is gone", lookPause, func() error {
			list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=floor"})
			if err == nil && len(list.Items) > 0 {
				err = errors.New("it is there")
			}
			return err
		}))
		stopServer()
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			progress("the floor's Envoy: %s", strings.ReplaceAll(fmt.Sprint(err), "\n", "; "))
		}
	}, nil
}

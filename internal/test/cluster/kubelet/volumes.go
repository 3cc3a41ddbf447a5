package kubelet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// volume is a folder that containers of a pod see.
type volume struct {
	path     string
	readOnly bool

	// What follows is for volumes that show the content of objects.
	spec    *corev1.Volume
	shown   content
	refresh time.Time         // when to look again without being told; zero for never
	tokens  map[string]*token // by path
}

// file is a file of a volume.
type file struct {
	data string
	mode os.FileMode
	user int // -1 for root
}

// content is the files of a volume, by path in it.
type content map[string]file

// volumeDir is where a volume is outside.
func (p *pod) volumeDir(name string) string { return filepath.Join(p.dir, "volumes", name) }

// mountVolume makes a volume, if it was not made before.
func (p *pod) mountVolume(ctx context.Context, spec *corev1.Volume) error {
	if p.volumes[spec.Name] != nil {
		return nil
	}
	v := &volume{path: p.volumeDir(spec.Name), spec: spec, tokens: map[string]*token{}}
	switch {
	case spec.EmptyDir != nil:
		v.spec = nil
		if err := p.makeDir(v.path, 0o777); err != nil {
			return err
		}
	case spec.HostPath != nil:
		v.spec, v.path = nil, spec.HostPath.Path
		if _, err := os.Stat(v.path); err != nil {
			return err
		}
	case spec.Secret != nil, spec.ConfigMap != nil, spec.Projected != nil, spec.DownwardAPI != nil:
		v.readOnly = true
		if err := p.makeDir(v.path, 0o755); err != nil {
			return err
		}
		if err := p.show(ctx, v); err != nil {
			return err
		}
	default:
		return fmt.Errorf("volumes of this kind are not simulated")
	}
	p.volumes[spec.Name] = v
	return nil
}

// makeDir makes a folder for the pod's group.
func (p *pod) makeDir(path string, mode os.FileMode) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	if group := p.fsGroup(); group >= 0 {
		if err := os.Chown(path, -1, group); err != nil {
			return err
		}
		mode |= 0o070 | os.ModeSetgid
	}
	return os.Chmod(path, mode) // whatever the umask
}

// fsGroup is the group that owns the pod's volumes, or -1.
func (p *pod) fsGroup() int {
	if s := p.spec.SecurityContext; s != nil && s.FSGroup != nil {
		return int(*s.FSGroup)
	}
	return -1
}

// show brings a volume up to date with the objects that it shows.
func (p *pod) show(ctx context.Context, v *volume) error {
	v.refresh = time.Time{}
	now, err := p.contentOf(ctx, v)
	if err != nil {
		return err
	}
	if v.shown != nil && maps.Equal(v.shown, now) {
		return nil
	}
	if err := replace(v.path, now, p.fsGroup()); err != nil {
		return err
	}
	v.shown = now
	return nil
}

// keepVolumes follows changes until life ends. A source that goes away leaves what was shown.
func (p *pod) keepVolumes(life context.Context) {
	const never = 365 * 24 * time.Hour
	for life.Err() == nil {
		wake := p.sourcesChanged.wait()
		next := time.Now().Add(never)
		for _, name := range slices.Sorted(maps.Keys(p.volumes)) {
			v := p.volumes[name]
			if v.spec == nil {
				continue
			}
			if err := p.show(life, v); err != nil {
				p.kubelet.Log.Debug("a volume can't be brought up to date", "pod", p.latest().Name, "volume", name, "error", err)
				v.refresh = time.Now().Add(time.Second)
			}
			if !v.refresh.IsZero() && v.refresh.Before(next) {
				next = v.refresh
			}
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-wake:
		case <-timer.C:
		case <-life.Done():
		}
		timer.Stop()
	}
}

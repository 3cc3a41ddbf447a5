package proxies

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// Files is where proxies that read files find them in a cluster: in the ConfigMap NAME-files and the Secret NAME-keys,
// beside the Gateway's other objects of that NAME. It is a filesync.Store. The Deployer deletes the objects, with the
// Gateway, or when a Deployment of another data plane has rolled out.
type Files struct{ d *Deployer }

// Files is the store of the proxies that this Deployer runs.
func (d *Deployer) Files() Files { return Files{d} }

// Start says where the files are in a pod.
func (Files) Start(model.ObjectRef) dataplane.FileStart { return configuration }

// Where is the ConfigMap; "" if the Gateway has no proxies.
func (f Files) Where(gateway model.ObjectRef) string {
	p, found := f.planned(gateway)
	if !found {
		return ""
	}
	return fmt.Sprintf("%s %s/%s", fileMap, gateway.Namespace(), fileMap.of(p))
}

// planned is what the plan says of a Gateway's proxies. The plan is asked, since the Deployer may be behind it.
func (f Files) planned(gateway model.ObjectRef) (p plan.Proxy, found bool) {
	f.d.cfg.Graph.View(func(v flow.View) { p, found = flow.Get(v, f.d.cfg.Proxies, gateway) })
	return p, found
}

// Read reads both objects. If one of them is missing, nothing is written. An object that is not Cardea's is an error.
// Labels, annotations and owners that others removed from an object are put back.
func (f Files) Read(ctx context.Context, gateway model.ObjectRef) (set dataplane.FileSet, at time.Time, err error) {
	p, found := f.planned(gateway)
	if !found {
		return set, at, fmt.Errorf("%s has no proxies", gateway)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	missing := false
	for _, k := range []kind{fileSecret, fileMap} {
		object, files, err := f.get(ctx, k, gateway.Namespace(), k.of(p))
		switch {
		case apierrors.IsNotFound(err):
			f.remember(gateway, k, digest{}, nil)
			missing = true
			continue
		case err != nil:
			return set, at, err
		case !ours(object, p):
			return set, at, fmt.Errorf("%s %s exists and does not belong to Cardea", k, object.GetName())
		}
		o := fileObject{k, gateway, p, files}
		f.remember(gateway, k, o.digest(), object)
		written := writtenAt(object, time.Now())
		if !o.hasHead(object) {
			if err := f.apply(ctx, o, written); err != nil {
				return set, at, err
			}
		}
		if *folderOf(&set, k) = files; written.After(at) {
			at = written
		}
	}
	if missing {
		return dataplane.FileSet{}, time.Time{}, nil
	}
	return set, at, nil
}

// writtenAt is when an object was written, by its annotation. A changed annotation can't put off later writes for ever.
func writtenAt(object metav1.Object, now time.Time) time.Time {
	written, err := time.Parse(time.RFC3339Nano, object.GetAnnotations()[writtenAtAnnotation])
	switch {
	case err != nil:
		return object.GetCreationTimestamp().Time
	case written.After(now):
		return now
	}
	return written
}

// get reads an object.
func (f Files) get(
	ctx context.Context, k kind, namespace, name string,
) (object metav1.Object, files map[string][]byte, err error) {
	if k == fileSecret {
		o, err := f.d.core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		return o, o.Data, err
	}
	o, err := f.d.core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	files = map[string][]byte{}
	for name, text := range o.Data {
		files[name] = []byte(text)
	}
	return o, files, err
}

// folderOf is the part of a set that an object has.
func folderOf(set *dataplane.FileSet, k kind) *map[string][]byte {
	if k == fileSecret {
		return &set.Keys
	}
	return &set.Plain
}

// Write replaces all files: keys first, since others name them. An object that has its files already is left alone.
func (f Files) Write(ctx context.Context, gateway model.ObjectRef, set dataplane.FileSet, at time.Time) error {
	p, found := f.planned(gateway)
	if !found {
		return fmt.Errorf("%s has no proxies", gateway)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for _, k := range []kind{fileSecret, fileMap} {
		o := fileObject{k, gateway, p, *folderOf(&set, k)}
		if f.has(o) {
			continue
		}
		if err := f.apply(ctx, o, at); err != nil {
			return err
		}
	}
	return nil
}

// Release does nothing: pods that read these files may serve until the Deployment has rolled out (see keepFiles).
func (Files) Release(context.Context, model.ObjectRef, dataplane.FileSet) error { return nil }

// apply writes an object.
func (f Files) apply(ctx context.Context, o fileObject, at time.Time) error {
	text, err := o.text(at)
	if err != nil {
		return err
	}
	f.begin(o.gateway, o.kind)
	object, err := f.d.patch(ctx, o.kind, o.gateway.Namespace(), o.kind.of(o.proxy), text)
	result := "changed"
	if err != nil {
		object, result = nil, "failed"
	}
	f.d.metrics.applies.WithLabelValues(o.kind.String(), result).Inc()
	f.remember(o.gateway, o.kind, o.digest(), object)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", o.kind, o.kind.of(o.proxy), err)
	}
	return nil
}

// fileObject is a ConfigMap or a Secret with files.
type fileObject struct {
	kind    kind
	gateway model.ObjectRef
	proxy   plan.Proxy
	files   map[string][]byte
}

func (o fileObject) labels() map[string]string {
	return joined(labels(o.gateway, o.proxy), map[string]string{filesLabel: "true"})
}

// hasHead tells whether an object has its labels, annotations and owner.
func (o fileObject) hasHead(object metav1.Object) bool {
	has := func(all, want map[string]string) bool {
		for name, value := range want {
			if all[name] != value {
				return false
			}
		}
		return true
	}
	owned := slices.ContainsFunc(object.GetOwnerReferences(),
		func(r metav1.OwnerReference) bool { return r.UID == uid(o.proxy) })
	return owned && has(object.GetLabels(), o.labels()) &&
		has(object.GetAnnotations(), annotations(o.gateway, o.proxy))
}

// digest identifies the object, whenever it is written.
func (o fileObject) digest() digest {
	head, err := json.Marshal([]any{o.labels(), annotations(o.gateway, o.proxy), o.proxy.UID})
	if err != nil {
		panic(fmt.Sprintf("deploy: labels of %s: %v", o.gateway, err))
	}
	return sha256.Sum256(append(head, hash(o.files)...))
}

// text is the object, to be applied.
func (o fileObject) text(at time.Time) ([]byte, error) {
	name, namespace := o.kind.of(o.proxy), o.gateway.Namespace()
	written := joined(annotations(o.gateway, o.proxy),
		map[string]string{writtenAtAnnotation: at.UTC().Format(time.RFC3339Nano)})
	if o.kind == fileSecret {
		return json.Marshal(corev1ac.Secret(name, namespace).WithLabels(o.labels()).WithAnnotations(written).
			WithOwnerReferences(owner(o.gateway, o.proxy)).WithData(o.files))
	}
	data := map[string]string{}
	for name, text := range o.files {
		data[name] = string(text)
	}
	return json.Marshal(corev1ac.ConfigMap(name, namespace).WithLabels(o.labels()).WithAnnotations(written).
		WithOwnerReferences(owner(o.gateway, o.proxy)).WithData(data))
}

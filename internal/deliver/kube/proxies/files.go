package proxies

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Folders says where the files are in a pod.
func (Files) Folders(model.ObjectRef) dataplane.FileFolders { return fileFolders }

// Location is the ConfigMap; "" if the Gateway has no proxies.
func (f Files) Location(gateway model.ObjectRef) string {
	p, found := f.findProxy(gateway)
	if !found {
		return ""
	}
	return fmt.Sprintf("%s %s/%s", fileMap, gateway.Namespace(), fileMap.objectName(p))
}

// findProxy is what the plan says of a Gateway's proxies. The plan is asked, since the Deployer may be behind it.
func (f Files) findProxy(gateway model.ObjectRef) (p plan.ProxySpec, found bool) {
	f.d.cfg.Graph.View(func(v flow.View) { p, found = flow.Get(v, f.d.cfg.Proxies, gateway) })
	return p, found
}

// Read reads both objects. If one of them is missing, nothing is written. An object that is not Cardea's is an error.
// Labels, annotations and owners that others removed from an object are put back.
func (f Files) Read(ctx context.Context, gateway model.ObjectRef) (set dataplane.FileSet, at time.Time, err error) {
	p, found := f.findProxy(gateway)
	if !found {
		return set, at, fmt.Errorf("%s has no proxies", gateway)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	missing := false
	for _, k := range []kind{fileSecret, fileMap} {
		object, files, err := f.getFiles(ctx, k, gateway.Namespace(), k.objectName(p))
		switch {
		case apierrors.IsNotFound(err):
			f.recordWritten(gateway, k, digest{}, nil)
			missing = true
			continue
		case err != nil:
			return set, at, err
		case !isOurs(object, p):
			return set, at, fmt.Errorf("%s %s exists and does not belong to Cardea", k, object.GetName())
		}
		o := fileObject{k, gateway, p, files}
		f.recordWritten(gateway, k, o.digestFiles(), object)
		written := writtenAt(object, time.Now())
		if !o.hasMetadata(object) {
			if err := f.applyFiles(ctx, o, written); err != nil {
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

// getFiles reads an object.
func (f Files) getFiles(
	ctx context.Context, k kind, namespace, name string,
) (object metav1.Object, files map[string][]byte, err error) {
	if k == fileSecret {
		o := &corev1.Secret{}
		err := f.d.get(ctx, k, namespace, name, o)
		return o, o.Data, err
	}
	o := &corev1.ConfigMap{}
	err = f.d.get(ctx, k, namespace, name, o)
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
	p, found := f.findProxy(gateway)
	if !found {
		return fmt.Errorf("%s has no proxies", gateway)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	for _, k := range []kind{fileSecret, fileMap} {
		o := fileObject{k, gateway, p, *folderOf(&set, k)}
		if f.hasFiles(o) {
			continue
		}
		if err := f.applyFiles(ctx, o, at); err != nil {
			return err
		}
	}
	return nil
}

// Release does nothing: pods that read these files may serve until the Deployment has rolled out (see keepFiles).
func (Files) Release(context.Context, model.ObjectRef, dataplane.FileSet) error { return nil }

// applyFiles writes an object.
func (f Files) applyFiles(ctx context.Context, o fileObject, at time.Time) error {
	text, err := o.marshalObject(at)
	if err != nil {
		return err
	}
	f.beginWrite(o.gateway, o.kind)
	object, err := f.d.patchObject(ctx, o.kind, o.gateway.Namespace(), o.kind.objectName(o.proxy), text)
	result := "changed"
	if err != nil {
		object, result = nil, "failed"
	}
	f.d.metrics.applies.WithLabelValues(o.kind.String(), result).Inc()
	f.recordWritten(o.gateway, o.kind, o.digestFiles(), object)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", o.kind, o.kind.objectName(o.proxy), err)
	}
	return nil
}

// fileObject is a ConfigMap or a Secret with files.
type fileObject struct {
	kind    kind
	gateway model.ObjectRef
	proxy   plan.ProxySpec
	files   map[string][]byte
}

func (o fileObject) fileLabels() map[string]string {
	return mergeMaps(objectLabels(o.gateway, o.proxy), map[string]string{filesLabel: "true"})
}

// hasMetadata tells whether an object has its labels, annotations and owner.
func (o fileObject) hasMetadata(object metav1.Object) bool {
	has := func(all, want map[string]string) bool {
		for name, value := range want {
			if all[name] != value {
				return false
			}
		}
		return true
	}
	owned := slices.ContainsFunc(object.GetOwnerReferences(),
		func(r metav1.OwnerReference) bool { return r.UID == proxyUID(o.proxy) })
	return owned && has(object.GetLabels(), o.fileLabels()) &&
		has(object.GetAnnotations(), objectAnnotations(o.gateway, o.proxy))
}

// digestFiles identifies the object, whenever it is written.
func (o fileObject) digestFiles() digest {
	head, err := json.Marshal([]any{o.fileLabels(), objectAnnotations(o.gateway, o.proxy), o.proxy.UID})
	if err != nil {
		panic(fmt.Sprintf("deploy: labels of %s: %v", o.gateway, err))
	}
	return sha256.Sum256(append(head, hashFiles(o.files)...))
}

// marshalObject is the object, to be applied.
func (o fileObject) marshalObject(at time.Time) ([]byte, error) {
	name, namespace := o.kind.objectName(o.proxy), o.gateway.Namespace()
	written := mergeMaps(objectAnnotations(o.gateway, o.proxy),
		map[string]string{writtenAtAnnotation: at.UTC().Format(time.RFC3339Nano)})
	data := fields{}
	for name, text := range o.files {
		if data[name] = text; o.kind == fileMap { // in a Secret they are encoded
			data[name] = string(text)
		}
	}
	all := object(o.kind, name, namespace, fields{"labels": o.fileLabels(), "annotations": written,
		"ownerReferences": []fields{ownerReference(o.gateway, o.proxy)}})
	if len(data) > 0 {
		all["data"] = data
	}
	return json.Marshal(all)
}

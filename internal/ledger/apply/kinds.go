package apply

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// kindsRetryInterval is how long a kind that the cluster does not have is not asked for again.
const kindsRetryInterval = time.Second

// kinds is what is known of the kinds that an API server has.
type kinds struct {
	plain rest.Interface // for what is no object

	mu    sync.Mutex
	known map[schema.GroupVersionKind]*meta.RESTMapping // without a version: in the one that the API server prefers
	reset time.Time                                     // when what was known was dropped
	asked map[schema.GroupVersionKind]time.Time         // kinds that were not there, and when
}

func newKinds(plain rest.Interface) *kinds {
	return &kinds{plain: plain, known: map[schema.GroupVersionKind]*meta.RESTMapping{},
		asked: map[schema.GroupVersionKind]time.Time{}}
}

// find finds how a kind is called in requests; no version: the one that the API server prefers. A kind that is not
// known is looked for in the API server, at most once a second if it is not there.
func (k *kinds) find(ctx context.Context, kind schema.GroupKind, version string) (*meta.RESTMapping, error) {
	key := kind.WithVersion(version)
	k.mu.Lock()
	found, again := k.known[key], time.Since(k.asked[key]) < kindsRetryInterval
	k.mu.Unlock()
	switch {
	case found != nil:
		return found, nil
	case again:
		return nil, noMatch(kind, version)
	}
	found, err := k.ask(ctx, kind, version)
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil:
		k.known[key] = found
		delete(k.asked, key)
	case meta.IsNoMatchError(err):
		k.asked[key] = time.Now()
	}
	return found, err
}

func noMatch(kind schema.GroupKind, version string) error {
	err := &meta.NoKindMatchError{GroupKind: kind}
	if version != "" {
		err.SearchedVersions = []string{version}
	}
	return err
}

// refresh has all kinds asked for anew, unless that was a moment ago.
func (k *kinds) refresh() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.reset) >= kindsRetryInterval {
		k.reset = time.Now()
		clear(k.known)
	}
}

// ask asks the API server for a kind, in all versions if none is stated.
func (k *kinds) ask(ctx context.Context, kind schema.GroupKind, version string) (*meta.RESTMapping, error) {
	versions, err := []string{version}, error(nil)
	if version == "" {
		if versions, err = k.versions(ctx, kind.Group); err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	for _, version := range versions {
		list, err := k.resources(ctx, schema.GroupVersion{Group: kind.Group, Version: version})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		for _, r := range list {
			if r.Kind == kind.Kind && !strings.Contains(r.Name, "/") { // "pods/status" is of kind Pod, too
				return mapping(kind.WithVersion(version), r), nil
			}
		}
	}
	return nil, noMatch(kind, version)
}

func mapping(kind schema.GroupVersionKind, r metav1.APIResource) *meta.RESTMapping {
	m := &meta.RESTMapping{Resource: kind.GroupVersion().WithResource(r.Name), GroupVersionKind: kind,
		Scope: meta.RESTScopeRoot}
	if r.Namespaced {
		m.Scope = meta.RESTScopeNamespace
	}
	return m
}

// versions are those in which a group is served, the preferred one first.
func (k *kinds) versions(ctx context.Context, group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	var is metav1.APIGroup
	if err := k.read(ctx, "/apis/"+group, &is); err != nil {
		return nil, err
	}
	list := []string{is.PreferredVersion.Version}
	for _, v := range is.Versions {
		list = append(list, v.Version)
	}
	return slices.Compact(list), nil
}

// resources are the resources of a version of a group.
func (k *kinds) resources(ctx context.Context, of schema.GroupVersion) ([]metav1.APIResource, error) {
	path := "/apis/"
	if of.Group == "" {
		path = "/api/"
	}
	var list metav1.APIResourceList
	err := k.read(ctx, path+of.String(), &list)
	return list.APIResources, err
}

func (k *kinds) read(ctx context.Context, path string, into any) error {
	text, err := k.plain.Get().AbsPath(path).MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// lack tells for certain whether the API server has no such kind in any version: a group that does not answer for now
// may have it.
func (k *kinds) lack(ctx context.Context, kind schema.GroupKind) bool {
	if kind.Group == "" {
		return false
	}
	versions, err := k.versions(ctx, kind.Group)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	for _, version := range versions {
		list, err := k.resources(ctx, schema.GroupVersion{Group: kind.Group, Version: version})
		if err != nil || slices.ContainsFunc(list, func(r metav1.APIResource) bool { return r.Kind == kind.Kind }) {
			return false
		}
	}
	return true
}

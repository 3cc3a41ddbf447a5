package apply

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/ledger"
)

// runRechecks looks, until ctx ends, whether what failed for good can succeed now: because a kind or its schema is
// another one, the worker may do what it could not, or a namespace was made. It asks nothing while there is nothing of
// that sort.
func (w *Worker) runRechecks(ctx context.Context) {
	var schemas map[string]string
	for sleep(ctx, w.cfg.Recheck) {
		if len(w.blocked.keysWaitingFor(retryOnSchema)) == 0 {
			schemas = nil
		} else {
			schemas = w.recheckSchemas(ctx, schemas)
		}
		w.recheckAccess(ctx)
		w.recheckNamespaces(ctx)
	}
}

// recheckSchemas compares the hashes that the API server has of each group's OpenAPI document.
func (w *Worker) recheckSchemas(ctx context.Context, before map[string]string) map[string]string {
	now, err := w.api.schemaHashes(ctx)
	if err != nil {
		return before
	}
	groups := map[string]bool{}
	for path, hash := range now {
		if before != nil && before[path] != hash {
			groups[groupOf(path)] = true
		}
	}
	// A kind that was unknown may have come before the first look.
	unknown := w.blocked.filterKeys(func(_ ledger.Key, is blockReason) bool { return is.code == codeUnknownKind })
	known := map[schema.GroupVersionKind]bool{}
	for _, k := range unknown {
		kind := groupKind(k).WithVersion(w.blocked.get(k).version)
		if _, asked := known[kind]; !asked {
			_, err := w.api.findMapping(ctx, groupKind(k), kind.Version)
			known[kind] = err == nil
		}
	}
	w.retryKeys(ctx, w.blocked.filterKeys(func(k ledger.Key, is blockReason) bool {
		return is.retryOn == retryOnSchema && groups[k.Group] ||
			is.code == codeUnknownKind && known[groupKind(k).WithVersion(is.version)]
	}))
	return now
}

// schemaHashes are the API server's OpenAPI documents by path, e.g. "apis/apps/v1", with their hashes.
func (a *apiServer) schemaHashes(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.requestTimeout)
	defer cancel()
	text, err := a.plain.Get().AbsPath("/openapi/v3").MaxRetries(0).Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	var index struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, err
	}
	list := map[string]string{}
	for path, is := range index.Paths {
		u, err := url.Parse(is.URL)
		if err != nil {
			return nil, err
		}
		list[path] = u.Query().Get("hash")
	}
	return list, nil
}

// groupOf is the API group of a path such as "apis/apps/v1"; "" of "api/v1".
func groupOf(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || parts[0] != "apis" {
		return ""
	}
	return parts[1]
}

// recheckAccess asks whether the worker may do now what it was denied.
func (w *Worker) recheckAccess(ctx context.Context) {
	type question struct {
		kind      schema.GroupKind
		namespace string
		deleted   bool
	}
	may := map[question]bool{}
	var granted []ledger.Key
	for _, k := range w.blocked.keysWaitingFor(retryOnAccess) {
		q := question{groupKind(k), k.Namespace, w.blocked.get(k).deleted}
		if _, asked := may[q]; !asked {
			allowed, err := w.api.checkAccess(ctx, q.kind, q.namespace, q.deleted)
			if err != nil {
				w.cfg.Log.Warn("can't ask what the worker may do", "error", err)
				return
			}
			may[q] = allowed
		}
		if may[q] {
			granted = append(granted, k)
		}
	}
	w.retryKeys(ctx, granted)
}

// checkAccess asks the API server whether we may do what a claim needs.
func (a *apiServer) checkAccess(
	ctx context.Context, kind schema.GroupKind, namespace string, deleted bool,
) (bool, error) {
	m, err := a.findMapping(ctx, kind, "")
	if err != nil {
		if meta.IsNoMatchError(err) {
			return false, nil
		}
		return false, err
	}
	verbs := []string{"get", "create", "patch"}
	if deleted {
		verbs = []string{"get", "delete"}
	}
	for _, verb := range verbs {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: m.Resource.Group,
				Version: m.Resource.Version, Resource: m.Resource.Resource}}}
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
		body, err := json.Marshal(review)
		if err != nil {
			return false, err
		}
		text, err := a.postJSON(ctx, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body)
		if err != nil {
			return false, err
		}
		if err := json.Unmarshal(text, review); err != nil || !review.Status.Allowed {
			return false, err
		}
	}
	return true, nil
}

func (a *apiServer) postJSON(ctx context.Context, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, a.requestTimeout)
	defer cancel()
	return a.plain.Post().AbsPath(path).SetHeader("Content-Type", "application/json").
		SetHeader("Accept", "application/json").Body(body).MaxRetries(0).Do(ctx).Raw()
}

// recheckNamespaces looks for namespaces that were missing.
func (w *Worker) recheckNamespaces(ctx context.Context) {
	found := map[string]bool{}
	for _, k := range w.blocked.keysWaitingFor(retryOnNamespace) {
		if _, asked := found[k.Namespace]; asked {
			continue
		}
		m, err := w.api.findMapping(ctx, schema.GroupKind{Kind: "Namespace"}, "v1")
		if err != nil {
			return
		}
		live, err := w.api.clientFor(m, "", k.Namespace).get(ctx)
		if found[k.Namespace] = err == nil && live != nil && live.GetDeletionTimestamp() == nil; found[k.Namespace] {
			w.retryKeys(ctx, w.blocked.inNamespace(k.Namespace))
		}
	}
}

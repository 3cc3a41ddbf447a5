package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"cardea.dev/cardea/internal/core/ledger"
)

// The marker is a ConfigMap in a namespace that every cluster has.
const (
	markerNamespace = metav1.NamespaceDefault
	markerName      = "cardea-ledger"
	// markerFresh is how long what was read counts: only other workers of the same cluster write it, too.
	markerFresh = 10 * time.Second
)

// marker tells in the cluster which changes it has seen of each ledger, by the ledger's ID. It is raised before
// something is deleted: nothing else would tell a ledger that was restored from an older backup. There is one write for
// all deletions of a batch.
type marker struct {
	api *apiServer

	mu     sync.Mutex
	last   []ledger.Seen // as it was read or written last
	readAt time.Time     // when it was read
}

// readSeen is what the cluster has seen: each claim asks for it.
func (m *marker) readSeen(ctx context.Context) ([]ledger.Seen, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Since(m.readAt) < markerFresh {
		return m.last, nil
	}
	_, err := m.getConfigMap(ctx)
	return m.last, err
}

// getConfigMap reads the ConfigMap; nil: there is none. The caller has the lock.
func (m *marker) getConfigMap(ctx context.Context) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, m.api.requestTimeout)
	defer cancel()
	live, err := m.configMapClient().resource.Get(ctx, markerName, metav1.GetOptions{})
	if isMissing(err) {
		m.last, m.readAt = nil, time.Now()
		return nil, nil
	}
	if err != nil {
		return nil, markerError(err)
	}
	m.last = nil
	texts, _, err := unstructured.NestedStringMap(live.Object, "data")
	for id, text := range texts {
		var seen ledger.Seen
		if err = json.Unmarshal([]byte(text), &seen); err != nil || ledger.IDOf(seen.Epoch) != id {
			break
		}
		m.last = append(m.last, seen)
	}
	if err != nil || len(m.last) < len(texts) {
		return nil, &claimError{claimFailure{codeUnreadable,
			fmt.Sprintf("ConfigMap %s/%s, which records the newest change of the ledger that the cluster has seen, was "+
				"changed after it was written; restore it, or delete it if no backup of the ledger was restored",
				markerNamespace, markerName), false, retryAfterDelay}}
	}
	m.readAt = time.Now()
	return live, nil
}

// recordSeen has the cluster know of the ledger's changes up to the head of a claim, unless it knows of the claim's.
func (m *marker) recordSeen(ctx context.Context, c ledger.Claim) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for pause := time.Millisecond; !m.coversClaim(c); pause = min(2*pause, time.Second) {
		live, err := m.getConfigMap(ctx)
		if err != nil {
			return err
		}
		if m.coversClaim(c) {
			return nil // another worker did
		}
		if slices.ContainsFunc(m.last, func(s ledger.Seen) bool { return ledger.IsLater(s.Epoch, c.Head.Epoch) }) {
			return &claimError{claimFailure{codeAhead, "the cluster has seen later changes" + restoredSuffix, true,
				retryAfterDelay}}
		}
		seen := ledger.Seen{Epoch: c.Head.Epoch, Change: c.Head.Change, Digest: c.Head.Digest}
		err = m.writeConfigMap(ctx, live, seen)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			if err != nil {
				return markerError(err)
			}
			m.last = append(slices.DeleteFunc(m.last, func(s ledger.Seen) bool {
				return ledger.IDOf(s.Epoch) == ledger.IDOf(seen.Epoch)
			}), seen)
			return nil
		}
		if !sleep(ctx, pause) {
			return ctx.Err()
		}
	}
	return nil
}

// coversClaim tells whether the cluster knows of a claim's change.
func (m *marker) coversClaim(c ledger.Claim) bool {
	return slices.ContainsFunc(m.last, func(s ledger.Seen) bool {
		return s.Epoch == c.Head.Epoch && s.Change >= c.Change
	})
}

// writeConfigMap makes the ConfigMap, or changes the version that was read.
func (m *marker) writeConfigMap(ctx context.Context, live *unstructured.Unstructured, seen ledger.Seen) error {
	ctx, cancel := context.WithTimeout(ctx, m.api.requestTimeout)
	defer cancel()
	text, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	data := map[string]any{ledger.IDOf(seen.Epoch): string(text)}
	if live == nil {
		_, err = m.configMapClient().resource.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": data,
			"metadata": map[string]any{"name": markerName, "namespace": markerNamespace},
		}}, metav1.CreateOptions{FieldManager: Manager})
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": data,
		"metadata": map[string]any{"resourceVersion": live.GetResourceVersion()}})
	if err == nil {
		_, err = m.configMapClient().resource.Patch(ctx, markerName, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: Manager})
	}
	return err
}

func (m *marker) configMapClient() objectClient {
	maps := m.api.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	return objectClient{api: m.api, resource: maps.Namespace(markerNamespace), namespace: markerNamespace,
		name: markerName}
}

// markerError says what an error is about. If access is forbidden, the claim is tried again as often as after other
// failures: the check of access asks about the claim's object, and not about this one.
func markerError(err error) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("ConfigMap %s/%s: %w", markerNamespace, markerName, err)
	}
	return &claimError{claimFailure{string(metav1.StatusReasonForbidden), err.Error() +
		"; it records the newest change of the ledger that the cluster has seen: let the worker get, create and patch it",
		false, retryAfterDelay}}
}

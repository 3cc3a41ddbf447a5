package apply

import (
	"context"
	"fmt"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"cardea.dev/cardea/internal/core/ledger"
)

// adoptChanges makes a change of the ledger of what somebody changed in the cluster: the fields that the ledger owned,
// and those of the manager that changed them. It leaves out what others own, the status and defaults.
func (v *watcher) adoptChanges(ctx context.Context, s driftCandidate, by string) error {
	set := &fieldpath.Set{}
	for _, e := range entriesOf(s.live) {
		if e.isOurs() || e.manager == by && e.subresource != "status" {
			set = set.Union(e.fields)
		}
	}
	part, _ := selectFields(s.live.Object, set, &fieldpath.Set{}).(map[string]any)
	meta, _ := part["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		part["metadata"] = meta
	}
	part["apiVersion"], part["kind"] = s.live.GetAPIVersion(), s.live.GetKind()
	meta["name"] = s.live.GetName()
	if namespace := s.live.GetNamespace(); namespace != "" {
		meta["namespace"] = namespace
	}
	key, content, err := ledger.ContentOf(s.status.Target, part)
	if err != nil {
		return err
	}
	generation := s.status.Generation
	author := by
	if author == "" {
		author = "unknown"
	}
	return v.worker.cfg.Adopt(ctx, ledger.Draft{Verb: ledger.Adopt, Author: author, Via: "cardea ledger",
		Message: fmt.Sprintf("what %s changed in cluster %s", orSomebody(by), v.worker.cfg.Cluster),
		Request: fmt.Sprintf("adopt/%s/%s/%s", v.worker.cfg.Cluster, s.live.GetUID(), s.live.GetResourceVersion()),
		Edits:   []ledger.Edit{{Key: key, Content: content, Expect: &generation}}})
}

package apply

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cardea.dev/cardea/internal/core/ledger"
)

// errLate: the lease may be another's before a write that begins now has ended.
var errLate = errors.New("the lease ends")

// claimJob is one claim that is being done.
type claimJob struct {
	w             *Worker
	c             ledger.Claim
	client        objectClient
	want          map[string]any // nil: the object is to be deleted
	writeDeadline time.Time      // no write may begin later
	// exact: see exactKind.
	exact bool
}

// jobOutcome is the outcome of a job.
type jobOutcome struct {
	did    string                     // for metrics
	object *unstructured.Unstructured // as the API server has it now; nil: it is gone, or none of ours
}

// handleClaim does a claim and tells the ledger. err: it can't be done.
func (w *Worker) handleClaim(ctx context.Context, c ledger.Claim, until time.Time, err error) {
	hitFailpoint("claimed")
	release := w.watcher.holdObject(c.Key, c.ID)
	defer release()
	leased, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var result jobOutcome
	if err == nil {
		result, err = w.doClaim(leased, c, until.Add(-w.cfg.Lease/3))
	}
	if err != nil && leased.Err() != nil {
		err = errors.Join(errLate, err)
	}
	ctx, stop := context.WithTimeout(ctx, w.cfg.Lease)
	defer stop()
	f, isFailed := errors.AsType[*claimError](err)
	switch {
	case err == nil:
		hitFailpoint("applied")
		w.recordResult(ctx, c, result)
		hitFailpoint("recorded")
	case errors.Is(err, errLate):
		w.recordFailure(ctx, c, claimFailure{codeTimeout, "gave up: " + errLate.Error(), false, retryAfterDelay})
	case isFailed:
		w.recordFailure(ctx, c, f.claimFailure)
	default:
		w.recordFailure(ctx, c, failureOf(c.Key, err))
	}
}

// claimError is a failed claim as an error.
type claimError struct{ claimFailure }

func (f *claimError) Error() string { return f.message }

// doClaim does what a claim asks for. If the object changes between read and write, it is read again.
func (w *Worker) doClaim(ctx context.Context, c ledger.Claim, safe time.Time) (jobOutcome, error) {
	if c.Ahead {
		return jobOutcome{}, &claimError{claimFailure{codeAhead, "the cluster has seen later changes" + restoredSuffix, true,
			retryAfterDelay}}
	}
	j, err := w.prepareJob(ctx, c, safe)
	if err != nil {
		return w.withoutKind(ctx, c, err)
	}
	pause := time.Millisecond
	for {
		result, err := j.runStep(ctx)
		if noKind(err) {
			w.api.kinds.refresh()
			return w.withoutKind(ctx, c, err)
		}
		if !apierrors.IsConflict(err) || !sleep(ctx, pause) {
			return result, err
		}
		pause = min(2*pause, time.Second)
	}
}

// withoutKind is what becomes of a claim if the cluster does not have its kind: then what is to be deleted is not
// there.
func (w *Worker) withoutKind(ctx context.Context, c ledger.Claim, err error) (jobOutcome, error) {
	if c.IsDeleted() && (meta.IsNoMatchError(err) || noKind(err)) && w.api.lacksKind(ctx, groupKind(c.Key)) {
		return jobOutcome{did: "deleted"}, nil
	}
	return jobOutcome{}, err
}

// prepareJob finds out where the object of a claim is, and what it should be.
func (w *Worker) prepareJob(ctx context.Context, c ledger.Claim, safe time.Time) (*claimJob, error) {
	kind, version := schema.GroupKind{Group: c.Group, Kind: c.Kind}, ""
	j := &claimJob{w: w, c: c, writeDeadline: safe, exact: exactKind(kind)}
	if !c.IsDeleted() {
		want, err := annotateContent(c.Object, c.Head.Epoch)
		if err != nil {
			return nil, &claimError{claimFailure{codeUnreadable, err.Error(), true, retryAfterDelay}}
		}
		j.want = want
		version = versionOf(c)
	}
	m, err := w.api.findMapping(ctx, kind, version)
	if err != nil {
		return nil, err
	}
	namespaced := m.Scope.Name() == "namespace"
	switch {
	case namespaced && c.Namespace == "":
		return nil, &claimError{claimFailure{codeScope, c.Kind + " is a kind with namespaces: state metadata.namespace", true,
			retryAfterDelay}}
	case !namespaced && c.Namespace != "":
		return nil, &claimError{claimFailure{codeScope, c.Kind + " has no namespaces: leave out metadata.namespace", true,
			retryAfterDelay}}
	}
	j.client = w.api.clientFor(m, c.Namespace, c.Name)
	return j, nil
}

// versionOf is the version of its kind that a claim's content states; "" of what is to be deleted.
func versionOf(c ledger.Claim) string {
	object, err := c.Content.DecodeObject()
	if err != nil {
		return ""
	}
	apiVersion, _ := object["apiVersion"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, c.Kind).Version
}

// runStep reads the object, and writes what is to be written.
func (j *claimJob) runStep(ctx context.Context) (jobOutcome, error) {
	live, err := j.client.get(ctx)
	if err != nil {
		return jobOutcome{}, err
	}
	hitFailpoint("read")
	if j.c.IsDeleted() {
		if err := j.w.marker.recordSeen(ctx, j.c); err != nil {
			return jobOutcome{}, err
		}
	}
	decision := decideClaim(j.c, j.want, live, j.exact)
	if decision.action != doKeep && decision.action != doGone && !time.Now().Before(j.writeDeadline) {
		return jobOutcome{}, errLate
	}
	switch decision.action {
	case doGone:
		return jobOutcome{did: "deleted"}, nil
	case doKeep:
		return jobOutcome{did: "unchanged", object: live}, nil
	case doOrphan:
		return jobOutcome{did: "left"}, j.orphanObject(ctx, live)
	case doRemove:
		return j.removeObject(ctx, live)
	case doWrite:
		return j.writeObject(ctx, live)
	}
	return jobOutcome{}, &claimError{decision.asFailure()}
}

func (j *claimJob) writeObject(ctx context.Context, live *unstructured.Unstructured) (jobOutcome, error) {
	if live != nil && j.exact && len(listForeign(live)) > 0 {
		patch, err := takeOver(live)
		if err != nil {
			return jobOutcome{}, err
		}
		if live, err = j.client.patch(ctx, patch); err != nil {
			return jobOutcome{}, err
		}
		hitFailpoint("taken-over")
	}
	hitFailpoint("write")
	answer, err := j.client.apply(ctx, j.want, live)
	hitFailpoint("written")
	switch {
	case err != nil:
		return jobOutcome{}, err
	case live == nil:
		return jobOutcome{did: "created", object: answer}, nil
	case live.GetResourceVersion() == answer.GetResourceVersion():
		return jobOutcome{did: "unchanged", object: answer}, nil
	}
	return jobOutcome{did: "changed", object: answer}, nil
}

// removeObject deletes the object. If it has to wait for finalizers, the claim waits, too: the watch tells when it is
// gone.
func (j *claimJob) removeObject(ctx context.Context, live *unstructured.Unstructured) (jobOutcome, error) {
	hitFailpoint("delete")
	if err := j.client.remove(ctx, live); err != nil {
		return jobOutcome{}, err
	}
	hitFailpoint("deleted")
	left, err := j.client.get(ctx)
	switch {
	case err != nil:
		return jobOutcome{}, err
	case left == nil || left.GetUID() != live.GetUID():
		return jobOutcome{did: "deleted"}, nil
	}
	return jobOutcome{}, &claimError{decision{doWait, ledger.Waiting, describeDeletion(left), false}.asFailure()}
}

func (j *claimJob) orphanObject(ctx context.Context, live *unstructured.Unstructured) error {
	patch, err := releasePatch(live)
	if err != nil {
		return err
	}
	_, err = j.client.patch(ctx, patch)
	return err
}

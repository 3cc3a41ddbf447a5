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

// job is one claim that is being done.
type job struct {
	w    *Worker
	c    ledger.Claim
	at   object
	want map[string]any // nil: the object is to be deleted
	safe time.Time      // no write may begin later
	// exact: see exactKind.
	exact bool
}

// done is the outcome of a job.
type done struct {
	did    string                     // for metrics
	object *unstructured.Unstructured // as the API server has it now; nil: it is gone, or none of ours
}

// handle does a claim and tells the ledger. err: it can't be done.
func (w *Worker) handle(ctx context.Context, c ledger.Claim, until time.Time, err error) {
	reached("claimed")
	release := w.watcher.hold(c.Key, c.ID)
	defer release()
	leased, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var result done
	if err == nil {
		result, err = w.do(leased, c, until.Add(-w.cfg.Lease/3))
	}
	if err != nil && leased.Err() != nil {
		err = errors.Join(errLate, err)
	}
	ctx, stop := context.WithTimeout(ctx, w.cfg.Lease)
	defer stop()
	f, isFailed := errors.AsType[*failure](err)
	switch {
	case err == nil:
		reached("applied")
		w.record(ctx, c, result)
		reached("recorded")
	case errors.Is(err, errLate):
		w.fail(ctx, c, failed{codeTimeout, "gave up: " + errLate.Error(), false, time_})
	case isFailed:
		w.fail(ctx, c, f.failed)
	default:
		w.fail(ctx, c, failureOf(c.Key, err))
	}
}

// failure is a failed claim as an error.
type failure struct{ failed }

func (f *failure) Error() string { return f.message }

// do does what a claim asks for. If the object changes between read and write, it is read again.
func (w *Worker) do(ctx context.Context, c ledger.Claim, safe time.Time) (done, error) {
	if c.Ahead {
		return done{}, &failure{failed{codeAhead, "the cluster has seen later changes" + restored, true, time_}}
	}
	j, err := w.job(ctx, c, safe)
	if err != nil {
		return w.withoutKind(ctx, c, err)
	}
	pause := time.Millisecond
	for {
		result, err := j.step(ctx)
		if noKind(err) {
			w.api.refresh(ctx)
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
func (w *Worker) withoutKind(ctx context.Context, c ledger.Claim, err error) (done, error) {
	if c.IsDeleted() && (meta.IsNoMatchError(err) || noKind(err)) && w.api.lacks(ctx, groupKind(c.Key)) {
		return done{did: "deleted"}, nil
	}
	return done{}, err
}

// job finds out where the object of a claim is, and what it should be.
func (w *Worker) job(ctx context.Context, c ledger.Claim, safe time.Time) (*job, error) {
	kind, version := schema.GroupKind{Group: c.Group, Kind: c.Kind}, ""
	j := &job{w: w, c: c, safe: safe, exact: exactKind(kind)}
	if !c.IsDeleted() {
		want, err := stated(c.Object, c.Head.Epoch)
		if err != nil {
			return nil, &failure{failed{codeUnreadable, err.Error(), true, time_}}
		}
		j.want = want
		version = versionOf(c)
	}
	m, err := w.api.kind(ctx, kind, version)
	if err != nil {
		return nil, err
	}
	namespaced := m.Scope.Name() == "namespace"
	switch {
	case namespaced && c.Namespace == "":
		return nil, &failure{failed{codeScope, c.Kind + " is a kind with namespaces: state metadata.namespace", true, time_}}
	case !namespaced && c.Namespace != "":
		return nil, &failure{failed{codeScope, c.Kind + " has no namespaces: leave out metadata.namespace", true, time_}}
	}
	j.at = w.api.object(m, c.Namespace, c.Name)
	return j, nil
}

// versionOf is the version of its kind that a claim's content states; "" of what is to be deleted.
func versionOf(c ledger.Claim) string {
	object, err := c.Content.Object()
	if err != nil {
		return ""
	}
	apiVersion, _ := object["apiVersion"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, c.Kind).Version
}

// step reads the object, and writes what is to be written.
func (j *job) step(ctx context.Context) (done, error) {
	live, err := j.at.get(ctx)
	if err != nil {
		return done{}, err
	}
	reached("read")
	if j.c.IsDeleted() {
		if err := j.w.marker.raise(ctx, j.c); err != nil {
			return done{}, err
		}
	}
	decision := decide(j.c, j.want, live, j.exact)
	if decision.move != doKeep && decision.move != doGone && !time.Now().Before(j.safe) {
		return done{}, errLate
	}
	switch decision.move {
	case doGone:
		return done{did: "deleted"}, nil
	case doKeep:
		return done{did: "unchanged", object: live}, nil
	case doOrphan:
		return done{did: "left"}, j.orphan(ctx, live)
	case doRemove:
		return j.remove(ctx, live)
	case doWrite:
		return j.write(ctx, live)
	}
	return done{}, &failure{decision.failed()}
}

func (j *job) write(ctx context.Context, live *unstructured.Unstructured) (done, error) {
	if live != nil && j.exact && len(foreign(live)) > 0 {
		patch, err := takeOver(live)
		if err != nil {
			return done{}, err
		}
		if live, err = j.at.patch(ctx, patch); err != nil {
			return done{}, err
		}
		reached("taken-over")
	}
	reached("write")
	answer, err := j.at.apply(ctx, j.want, live)
	reached("written")
	switch {
	case err != nil:
		return done{}, err
	case live == nil:
		return done{did: "created", object: answer}, nil
	case live.GetResourceVersion() == answer.GetResourceVersion():
		return done{did: "unchanged", object: answer}, nil
	}
	return done{did: "changed", object: answer}, nil
}

// remove deletes the object. If it has to wait for finalizers, the claim waits, too: the watch tells when it is gone.
func (j *job) remove(ctx context.Context, live *unstructured.Unstructured) (done, error) {
	reached("delete")
	if err := j.at.remove(ctx, live); err != nil {
		return done{}, err
	}
	reached("deleted")
	left, err := j.at.get(ctx)
	switch {
	case err != nil:
		return done{}, err
	case left == nil || left.GetUID() != live.GetUID():
		return done{did: "deleted"}, nil
	}
	return done{}, &failure{decision{doWait, ledger.Waiting, terminating(left), false}.failed()}
}

func (j *job) orphan(ctx context.Context, live *unstructured.Unstructured) error {
	patch, err := release(live)
	if err != nil {
		return err
	}
	_, err = j.at.patch(ctx, patch)
	return err
}

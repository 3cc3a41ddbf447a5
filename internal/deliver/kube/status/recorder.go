package status

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"cardea.dev/cardea/internal/core/kubeclient"
)

// Events are written as the client library's recorder does, which would bring the whole clientset into the program. An
// Event that says the same as an earlier one is counted onto that one's series. The second one is written at once, the
// later ones when the series ends, or every half hour.
const (
	seriesEnd     = 6 * time.Minute  // a series ends when nothing was added for so long
	seriesRefresh = 30 * time.Minute // how often the count of a series that goes on is written
	waitingEvents = 1000             // Events that wait to be written; the ones beyond are dropped
	eventTries    = 12
	eventPause    = 10 * time.Second // before the next try
	longestName   = 253              // of an object
)

// recorder writes Events, one after the other.
type recorder struct {
	client               rest.Interface
	controller, instance string
	log                  *slog.Logger
	waiting              chan *eventsv1.Event
	cancel               context.CancelFunc
	done                 chan struct{}

	written map[eventKey]*eventsv1.Event // only in run
}

// eventKey is what Events of a series have in common.
type eventKey struct {
	regarding            corev1.ObjectReference
	kind, action, reason string
}

func newRecorder(cfg Config) (*recorder, error) {
	client, err := kubeclient.Group(unlimitedConfig(cfg.REST), eventsv1.SchemeGroupVersion, &eventsv1.Event{})
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // an Event without it is as good
	return &recorder{
		client: client, controller: cfg.controller, instance: cfg.controller + "-" + host, log: cfg.Log,
		waiting: make(chan *eventsv1.Event, waitingEvents), done: make(chan struct{}),
		written: map[eventKey]*eventsv1.Event{},
	}, nil
}

// start writes until ctx ends or stop is called.
func (r *recorder) start(ctx context.Context) {
	ctx, r.cancel = context.WithCancel(ctx)
	go func() {
		defer close(r.done)
		r.run(ctx)
	}()
}

// stop drops what was not written yet.
func (r *recorder) stop() {
	r.cancel()
	<-r.done
}

// record has an Event written. It waits for nothing.
func (r *recorder) record(regarding corev1.ObjectReference, n eventNote) {
	now := time.Now()
	name := fmt.Sprintf("%s.%x", regarding.Name, now.UnixNano())
	if len(name) > longestName {
		name = fmt.Sprintf("%s.%x", fieldManager, now.UnixNano())
	}
	e := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: cmp.Or(regarding.Namespace, metav1.NamespaceDefault)},
		EventTime:  metav1.NewMicroTime(now), Regarding: regarding, Note: n.text,
		Type: n.eventType, Reason: n.reason, Action: n.action,
		ReportingController: r.controller, ReportingInstance: r.instance,
	}
	select {
	case r.waiting <- e:
	default:
	}
}

func (r *recorder) run(ctx context.Context) {
	end, refresh := time.NewTicker(seriesEnd), time.NewTicker(seriesRefresh)
	defer end.Stop()
	defer refresh.Stop()
	for {
		select {
		case e := <-r.waiting:
			if e = r.count(e); e != nil {
				r.write(ctx, e)
			}
		case <-end.C:
			r.endSeries(ctx)
		case <-refresh.C:
			for _, e := range r.written {
				if e.Series != nil {
					r.write(ctx, e)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// count adds an Event to what was written, and returns what is to be written now; nil: nothing.
func (r *recorder) count(e *eventsv1.Event) *eventsv1.Event {
	key := eventKey{e.Regarding, e.Type, e.Action, e.Reason}
	before := r.written[key]
	switch {
	case before == nil:
		r.written[key] = e
		return e
	case before.Series == nil:
		before.Series = &eventsv1.EventSeries{Count: 2, LastObservedTime: e.EventTime}
		return before
	}
	before.Series.Count++
	before.Series.LastObservedTime = e.EventTime
	return nil
}

// endSeries writes the counts of the series that have ended, and forgets them.
func (r *recorder) endSeries(ctx context.Context) {
	since := time.Now().Add(-seriesEnd)
	for key, e := range r.written {
		switch {
		case e.Series == nil && e.EventTime.Time.Before(since):
			delete(r.written, key)
		case e.Series != nil && e.Series.LastObservedTime.Time.Before(since):
			r.write(ctx, e)
			delete(r.written, key)
		}
	}
}

// write writes an Event, again and again while the API server does not answer.
func (r *recorder) write(ctx context.Context, e *eventsv1.Event) {
	for range eventTries {
		err := r.put(ctx, e)
		if err == nil {
			return
		}
		r.log.Debug("an Event was not written", "error", err)
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return // the API server refuses it
		}
		select {
		case <-time.After(wait.Jitter(eventPause, 0.25)):
		case <-ctx.Done():
			return
		}
	}
}

// put writes an Event, or the series of one that was written before; the Event may be gone by then.
func (r *recorder) put(ctx context.Context, e *eventsv1.Event) error {
	const resource = "events"
	if e.Series != nil {
		text, err := json.Marshal(map[string]any{"series": e.Series})
		if err != nil {
			return err
		}
		err = r.client.Patch(types.MergePatchType).Namespace(e.Namespace).Resource(resource).Name(e.Name).
			Body(text).Do(ctx).Error()
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	return r.client.Post().Namespace(e.Namespace).Resource(resource).Body(e).Do(ctx).Error()
}

package tokenreview

import (
	"context"
	"sync"
	"testing"
	"time"
)

// TestKnownBesideStrangers: while as many strangers are asked about as may be, who was accepted before is asked about
// again, also if the answer did not say for how long it is true.
func TestKnownBesideStrangers(t *testing.T) {
	now := time.Now()
	answers := NewAnswers[string](func() time.Time { return now }, nil)
	accepted := func(context.Context) (AcceptedAnswer[string], error) {
		return AcceptedAnswer[string]{Value: "alice"}, nil
	}
	if _, err := answers.Ask(t.Context(), AnswerKey{1}, accepted); err != nil {
		t.Fatal(err)
	}
	now = now.Add(acceptedFor)
	var strangers sync.WaitGroup
	asked, goOn := make(chan struct{}), make(chan struct{})
	for i := range byte(reviewsAtOnce) {
		strangers.Go(func() {
			_, _ = answers.Ask(t.Context(), AnswerKey{2, i}, func(context.Context) (none AcceptedAnswer[string], err error) {
				asked <- struct{}{}
				<-goOn
				return none, ErrRefused
			})
		})
	}
	for range reviewsAtOnce {
		<-asked
	}
	if who, err := answers.Ask(t.Context(), AnswerKey{1}, accepted); who != "alice" || err != nil {
		t.Errorf("%q, %v", who, err)
	}
	close(goOn)
	strangers.Wait()
}

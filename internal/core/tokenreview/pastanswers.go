package tokenreview

import (
	"sync"
	"time"
)

// answer is what the API server said to a question.
type answer[A any] struct {
	accepted bool
	value    A
	err      error
	until    time.Time // it need not be asked again
	ends     time.Time // it can't be true any more
}

// pastAnswers remembers a bounded number of answers. Any goroutine may use it.
type pastAnswers[A any] struct {
	mu sync.Mutex
	of map[AnswerKey]*rememberedAnswer[A]
}

type rememberedAnswer[A any] struct {
	answer[A]
	used time.Time
}

func newPastAnswers[A any]() *pastAnswers[A] {
	return &pastAnswers[A]{of: map[AnswerKey]*rememberedAnswer[A]{}}
}

// get is the last answer to a question, which may have ended; zero: none is remembered.
func (m *pastAnswers[A]) get(key AnswerKey, now time.Time) answer[A] {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.of[key]
	if r == nil {
		return answer[A]{}
	}
	r.used = now
	return r.answer
}

// put remembers an answer. If there are too many, refusals that ended go, or else another refusal, or the answer that
// was not used for longest.
func (m *pastAnswers[A]) put(key AnswerKey, a answer[A], now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[key] == nil && len(m.of) >= maxReviews {
		m.makeRoom(now)
	}
	m.of[key] = &rememberedAnswer[A]{a, now}
}

func (m *pastAnswers[A]) makeRoom(now time.Time) {
	var victim AnswerKey
	var worst *rememberedAnswer[A]
	for key, r := range m.of {
		if !r.accepted && r.hasEnded(now) {
			delete(m.of, key)
		} else if worst == nil || r.goesBefore(worst) {
			victim, worst = key, r
		}
	}
	if len(m.of) >= maxReviews {
		delete(m.of, victim)
	}
}

// goesBefore: who sends garbage must not drive out those who are known.
func (r *rememberedAnswer[A]) goesBefore(o *rememberedAnswer[A]) bool {
	if refused := r.err != nil; refused != (o.err != nil) {
		return refused
	}
	return r.used.Before(o.used)
}

func (a answer[A]) hasEnded(now time.Time) bool { return !a.ends.IsZero() && !now.Before(a.ends) }

package apply

import "time"

// When two do not agree, corrections are made less often: the API server must not be kept busy by them.
const (
	fightRounds = 5                // corrections in fightWindow that are no fight yet
	fightWindow = time.Minute      //
	fightPause  = 10 * time.Second // before the first correction that is slowed down; it doubles
	fightMost   = 10 * time.Minute //
)

// correctionHistory is the recent corrections of one object. Its zero value: there were none.
type correctionHistory struct {
	by     string // the field manager that made it differ each time
	rounds []time.Time
	pause  time.Duration
}

// noteCorrection notes a correction, and answers how long it should wait; 0: it is no fight.
func (f *correctionHistory) noteCorrection(by string, now time.Time) time.Duration {
	if by != f.by {
		*f = correctionHistory{by: by}
	}
	recent := f.rounds[:0]
	for _, at := range f.rounds {
		if now.Sub(at) < max(fightWindow, 2*f.pause) {
			recent = append(recent, at)
		}
	}
	f.rounds = append(recent, now)
	switch {
	case len(recent) == 0:
		f.pause = 0
	case f.pause > 0:
		f.pause = min(2*f.pause, fightMost)
	case len(recent) >= fightRounds:
		f.pause = fightPause
	}
	return f.pause
}

package simulator

import (
	"context"
	"slices"
	"sync"
	"time"
)

// load is what a server is busy with.
type load struct {
	set Settings

	mu               sync.Mutex
	waiting, running int
	blocks           int            // of the prompts that are worked on
	prompt, cached   int            // tokens, since the start
	requests         int            // that were worked on, since the start
	loaded           []string       // adapters, the last used one first
	inUse            map[string]int // requests by loaded adapter
	wanted           map[string]int // requests that wait, by adapter
	changed          chan struct{}  // closed when a request leaves an adapter
}

func (l *load) wait(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting += n
}

func (l *load) work(n, blocks int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running += n
	l.blocks += blocks
	l.requests += max(0, n)
}

func (l *load) count(prompt, cached int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prompt += prompt
	l.cached += cached
}

// adapter makes an adapter ready and keeps it so until release. An adapter that no request uses makes room. It is false
// if the client went.
func (l *load) adapter(ctx context.Context, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !slices.Contains(l.loaded, name) {
		room := len(l.loaded) < l.set.MaxAdapters
		for i := len(l.loaded) - 1; i >= 0 && !room; i-- {
			if l.inUse[l.loaded[i]] == 0 {
				l.loaded, room = slices.Delete(l.loaded, i, i+1), true
			}
		}
		changed := l.changed
		l.wanted[name]++
		l.mu.Unlock()
		ok := true
		if room {
			ok = sleep(ctx, l.set.Load)
		} else {
			select {
			case <-changed:
			case <-ctx.Done():
				ok = false
			}
		}
		l.mu.Lock()
		if l.wanted[name]--; l.wanted[name] == 0 {
			delete(l.wanted, name)
		}
		if !ok {
			return false
		}
		if room && !slices.Contains(l.loaded, name) && len(l.loaded) < l.set.MaxAdapters {
			l.loaded = slices.Insert(l.loaded, 0, name)
		}
	}
	i := slices.Index(l.loaded, name)
	l.loaded = slices.Insert(slices.Delete(l.loaded, i, i+1), 0, name)
	l.inUse[name]++
	return true
}

func (l *load) release(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inUse[name]--
	close(l.changed)
	l.changed = make(chan struct{})
}

func unix() float64 { return float64(time.Now().UnixNano()) / 1e9 }

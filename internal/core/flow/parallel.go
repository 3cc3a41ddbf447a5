package flow

import (
	"sync"
	"sync/atomic"
)

// A turn with fewer dirty keys than this runs them inline: starting goroutines would cost more than it saves.
const (
	inlineKeys = 64
	chunkKeys  = 16
)

// runParallel calls do(0) ... do(n-1), each once. Each worker has its own do, made by start.
func runParallel(workers, n int, start func() func(i int)) {
	if workers < 2 || n < inlineKeys {
		do := start()
		for i := range n {
			do(i)
		}
		return
	}
	var (
		next    atomic.Int64
		wg      sync.WaitGroup
		mu      sync.Mutex
		failure any // the first panic that was not contained
	)
	for range min(workers, (n+chunkKeys-1)/chunkKeys) {
		wg.Go(func() {
			whole := false
			defer func() {
				if x := recover(); x != nil || !whole {
					if x == nil {
						x = misuse("a transform ended its goroutine (runtime.Goexit)")
					}
					mu.Lock()
					if failure == nil {
						failure = x
					}
					mu.Unlock()
				}
			}()
			do := start()
			for {
				end := int(next.Add(chunkKeys))
				from := end - chunkKeys
				if from >= n {
					break
				}
				for i := from; i < min(end, n); i++ {
					do(i)
				}
			}
			whole = true
		})
	}
	wg.Wait()
	if failure != nil {
		panic(failure)
	}
}

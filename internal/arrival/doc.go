// Package arrival judges what must wait for something else to arrive: objects that belong together are written one by
// one, and each way in (files, watches of one kind each) has its own delay.
//
// It owns when a version that begins to name what is not
// there has to wait, with the version before it serving. It must never know files, an API server or a graph: who reads
// objects keeps the time and decides what to do. Its functions are pure, so any goroutine may call them. Start reading
// at Loses.
package arrival

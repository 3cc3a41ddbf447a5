// Package objects shows a running program's objects as Kubernetes would: metadata, spec, and the status that is or
// would be written, with the times at which conditions changed.
//
// It owns how objects are put together again from what the inputs keep. It must never know where objects come from, nor
// who asks for them. Start reading at New.
package objects

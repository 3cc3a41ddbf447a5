// Package members says which endpoints a pool has, as a file lists them.
//
// It owns the file's two forms and following its changes. It must never know requests, load or Envoy. File.Run uses one
// goroutine, its caller's. Pools of a cluster are in package cluster. Start reading at Pool.
package members

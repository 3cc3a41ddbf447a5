package main

// clusters measures the way of a change into a cluster.
func (b *bench) clusters() error { return nil }

// Package files is the data plane "EnvoyConfigMap": Envoys that read their configuration from files, which they
// follow by themselves.
//
// It owns what the files are called, how the resources that package envoy renders become text in them, and in which
// steps an edit is written. It must never know where the files are kept, nor a clock. All of it is pure, and may be
// called from any goroutine. Start reading at Dialect, then next.
//
//	lds.json            all listeners
//	cds.json            all clusters, with their endpoints
//	rds_8080_0.json     a route table
//	ecds_jwt.json       the configuration of a filter that keeps state
//	sds_secret_....json a certificate with its key, in the other folder
package files

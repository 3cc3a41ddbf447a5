package model

// ExternalAuth asks a server before a request is sent on. Requests are refused if the server does not allow them, and
// while it can't be reached.
type ExternalAuth struct {
	Backend  BackendKey
	External bool // see WeightedBackend
	GRPC     bool // the ext_authz protocol; else HTTP, where the status 200 allows
	// Path goes before the request's path; HTTP only.
	Path string
	// RequestHeaders go to the server. HTTP: besides Host, Method, Path, Content-Length and Authorization. GRPC: none
	// listed means all.
	RequestHeaders []string
	// ResponseHeaders of the server are put into the request that is sent on; none listed means all but Host. HTTP only:
	// the gRPC protocol has its own words for it.
	ResponseHeaders []string
	MaxBody         int32 // bytes of the body that go to the server; a longer body is refused. 0: none go
}

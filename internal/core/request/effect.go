package request

import (
	"net/http"
	"strconv"
	"time"
)

// Effect is what happens to a share of the requests or connections, whichever rule and backend it comes of.
type Effect struct {
	Share float64 `json:"share"` // of the requests, above 0, at most 1

	// Closed says of connections why the proxy closes them, and of sessions of datagrams why it drops these; "": it
	// doesn't.
	Closed string `json:"closed,omitempty"`

	// Status of the proxy's own answer; 0: a backend answers.
	Status int `json:"status,omitempty"`
	// Why a feature of a policy makes it: "SecurityPolicy.jwt: it has no token"; "": none does, or nothing is told.
	Why      string      `json:"why,omitempty"`
	Location string      `json:"location,omitempty"` // of a redirect
	Header   http.Header `json:"header,omitempty"`   // what the configuration puts into the proxy's own answer

	Endpoints []string `json:"endpoints,omitempty"` // that can get requests: "address:port", sorted
	Named     bool     `json:"named,omitempty"`     // the endpoints are names that the proxy looks up
	// Health is by what the proxy leaves out some of the endpoints, which only it knows, in words.
	Health []string `json:"health,omitempty"`
	// what the backend gets; GeneratedID and the like stand for what only the proxy knows
	Request  *Request       `json:"request,omitempty"`
	Response []HeaderChange `json:"response,omitempty"` // what is done to the headers of its answer, in order
	// what keeps a client at its endpoint: "cookie s", "header x-s"; "": nothing
	Session string `json:"session,omitempty"`
	Unkept  string `json:"unkept,omitempty"` // what would keep it if the request were below its path: "cookie s (path /a)"
	Limits  Limits `json:"limits,omitzero"`
	// Gates are what else decides whether the request gets so far, and what it gets if it does not.
	Gates []Verdict `json:"gates,omitempty"`

	// Arrived are the request's headers as routes were compared with them: with what the proxy adds to every request.
	Arrived http.Header `json:"-"`
}

// Limits are what a proxy does if a backend is slow or fails.
type Limits struct {
	Total   time.Duration `json:"whole,omitempty"`   // for all attempts together, then 504; 0: none
	Attempt time.Duration `json:"attempt,omitempty"` // for each; 0: none
	Retries uint32        `json:"retries,omitempty"` // attempts after the first
	// what is tried again, in the proxy's words ("connect-failure"), and statuses ("503")
	On []string `json:"on,omitempty"`
}

// GRPCStatus is the header of an answer that says how a gRPC call ended.
const GRPCStatus = "Grpc-Status"

// AnswerStatus is the status of the proxy's own answer in words: "404", of gRPC "UNIMPLEMENTED (12)"; "" if a backend
// answers.
func (e Effect) AnswerStatus() string {
	switch code := e.Header.Get(GRPCStatus); {
	case e.Status == 0:
		return ""
	case code != "":
		return grpcNames[code] + " (" + code + ")"
	}
	return strconv.Itoa(e.Status)
}

// grpcNames are those of the statuses that proxies answer by themselves.
var grpcNames = map[string]string{
	"2": "UNKNOWN", "7": "PERMISSION_DENIED", "8": "RESOURCE_EXHAUSTED", "12": "UNIMPLEMENTED", "13": "INTERNAL",
	"14": "UNAVAILABLE", "16": "UNAUTHENTICATED",
}

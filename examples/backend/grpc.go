package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

func isGRPC(r *http.Request) bool {
	return strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// call answers a gRPC call of any method with one message, in JSON. The protocol is small enough to write by hand: five
// bytes before a message (whether it is compressed, and its length), and the status after it, as a trailer.
func call(w http.ResponseWriter, r *http.Request, name string) {
	_, _ = io.Copy(io.Discard, r.Body) // it fails only if the client has gone
	message, err := json.Marshal(answer{name, r.Method, r.URL.Path, r.URL.RawQuery, r.Host, r.Header})
	w.Header().Set("Content-Type", "application/grpc+json")
	if err != nil {
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "13") // INTERNAL
		return
	}
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...))
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0") // OK
}

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

// call answers a gRPC call of whatever method with one message, in JSON. It is small enough to be written by hand: a
// message has five bytes before it, whether it is compressed and its length, and the status comes behind, as a trailer.
func call(w http.ResponseWriter, r *http.Request, name string) {
	_, _ = io.Copy(io.Discard, r.Body) // the caller may have gone away, which is nobody's business
	message, err := json.Marshal(answer{name, r.Method, r.URL.Path, r.URL.RawQuery, r.Host, r.Header})
	w.Header().Set("Content-Type", "application/grpc+json")
	if err != nil {
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "13") // INTERNAL
		return
	}
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...))
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0") // OK
}

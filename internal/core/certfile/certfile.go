// Package certfile is a server's certificate in files, which somebody replaces before it expires.
//
// It owns when the files are read again: at a handshake, if the certificate was written since. It must never know
// who issues them. Get is called by many goroutines.
package certfile

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// File is a certificate and its private key, in PEM.
type File struct {
	cert, key string

	mu    sync.Mutex
	read  time.Time // when the certificate's file was written, of what is known
	known *tls.Certificate
}

// Open reads a pair of files. The error says that one can't be read, or that they are no pair.
func Open(cert, key string) (*File, error) {
	f := &File{cert: cert, key: key}
	_, err := f.Get(nil)
	return f, err
}

// Get is the certificate as it is now, as tls.Config.GetCertificate wants it. A pair that can't be read, since it is
// being replaced, is not taken: the one before goes on, and the next handshake tries again.
func (f *File) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.cert)
	if err == nil && f.known != nil && info.ModTime().Equal(f.read) {
		return f.known, nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(f.cert, f.key)
	}
	switch {
	case err == nil:
		f.known, f.read = &pair, info.ModTime()
	case f.known == nil:
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return f.known, nil
}

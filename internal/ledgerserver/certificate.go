package ledgerserver

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// certificate is the server's, read again when its file changed.
type certificate struct {
	cert, key string

	mu    sync.Mutex
	read  time.Time // the file's, of what is known
	known *tls.Certificate
}

// get is the certificate as it is now. One that can't be read is not taken: the one before goes on.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && c.known != nil && info.ModTime().Equal(c.read) {
		return c.known, nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(c.cert, c.key)
	}
	switch {
	case err == nil:
		c.known, c.read = &pair, info.ModTime()
	case c.known == nil:
		return nil, fmt.Errorf("read the certificate (--tls-cert, --tls-key): %w", err)
	}
	return c.known, nil
}

package ledgercmd

import (
	"crypto/tls"
	"net/http"
	"time"

	"cardea.dev/cardea/internal/ledger/client"
)

// issuerTimeout is how long an issuer of ID tokens may take to answer.
const issuerTimeout = 10 * time.Second

// clientWith is an HTTP client that trusts the authorities in a flag's file; "": the machine's.
func clientWith(file, flag string) (*http.Client, error) {
	if file == "" {
		return &http.Client{Timeout: issuerTimeout}, nil
	}
	roots, err := client.ReadAuthorities(file, flag)
	if err != nil {
		return nil, err
	}
	return &http.Client{Timeout: issuerTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: roots}}}, nil
}

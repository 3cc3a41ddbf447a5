package ledgercmd

import (
	"crypto/tls"
	"net/http"
	"time"

	"cardea.dev/cardea/internal/ledger/client"
)

// issuerPatience is how long an issuer of ID tokens may take to answer.
const issuerPatience = 10 * time.Second

// clientWith is an HTTP client that trusts the authorities in a flag's file; "": the machine's.
func clientWith(file, flag string) (*http.Client, error) {
	if file == "" {
		return &http.Client{Timeout: issuerPatience}, nil
	}
	roots, err := client.Authorities(file, flag)
	if err != nil {
		return nil, err
	}
	return &http.Client{Timeout: issuerPatience, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: roots}}}, nil
}

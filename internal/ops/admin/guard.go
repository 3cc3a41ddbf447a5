package admin

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
)

// Header is in every answer of the API, so that a client knows that it talks to Cardea, and not to another program at
// that address.
const Header = "X-Cardea"

// withGuard passes requests that only read, of callers who may ask. An API that listens at a loopback address is only
// for the users of this machine. But a web page that they visit can make their browser ask it, under a name that
// resolves to 127.0.0.1 (DNS rebinding), and then read the answer. Such a request has that name in Host, and is
// refused.
func withGuard(listens net.Addr, access Access, log *slog.Logger, next http.Handler) http.Handler {
	tcp, ok := listens.(*net.TCPAddr)
	loopback := ok && tcp.IP.IsLoopback()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(Header, "admin")
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !isQuestion(r) {
			w.Header().Set("Allow", "GET, HEAD")
			writeFailure(w, http.StatusMethodNotAllowed, "the admin API is read-only: use GET")
			return
		}
		if loopback && !isLoopback(r.Host) {
			writeFailure(w, http.StatusForbidden, "use a loopback address or localhost as the host, not "+r.Host)
			return
		}
		switch allowed, err := access.allowsRequest(r); {
		case err != nil:
			log.Error("admin API can't check its callers", "error", err)
			writeFailure(w, http.StatusInternalServerError, "the admin API can't check its callers; its log says why")
			return
		case !allowed:
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeFailure(w, http.StatusUnauthorized, access.describeRefusal())
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether a Host header, with or without a port, names this machine without DNS.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

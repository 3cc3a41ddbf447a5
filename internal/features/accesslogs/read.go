package accesslogs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

// Value is the logs that can be written.
type Value []Read

// Files that are a proxy's output.
const stdout, stderr = "/dev/stdout", "/dev/stderr"

// Read is a log as read. One of Path and Server is set.
type Read struct {
	Name     string
	Path     string
	Server   *extend.BackendKey
	OTLP     bool
	LogName  string            // of a server of Envoy's own
	Resource map[string]string // of OTLP
	Text     string            // "": JSON
	JSON     map[string]string // nil: Cardea's own fields
	Gateway  string            // that the log belongs to
	When     Conditions
}

// Conditions all hold.
type Conditions struct {
	Request *extend.RequestMatch
	Status  []string
	Least   time.Duration
	Flags   []string
}

// Feature is where requests are logged.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.ClientPolicy, Name: "accessLogs", Schema: schema, Levels: extend.AtListener, OnInvalid: extend.Keep,
	Read: read, Envoy: extend.EnvoyFuncs[Value]{Listener: render, Off: off}, Judge: extend.Passes[Value], Words: words,
}

func read(r extend.Reader, s Spec) (v Value) {
	for _, log := range s {
		in := r.Field("[" + log.Name + "]")
		l := Read{Name: log.Name, Gateway: r.Where().Object}
		if l.to(in, log) && l.format(in, log) && l.when(in, log.When) {
			v = append(v, l)
		}
	}
	return v
}

// to reads where lines go.
func (l *Read) to(r extend.Reader, log Log) bool {
	n := 0
	for _, stated := range []bool{log.File != nil, log.GRPC != nil, log.OpenTelemetry != nil} {
		if stated {
			n++
		}
	}
	if n != 1 {
		r.Refuse("state one of file, grpc and openTelemetry")
		return false
	}
	switch {
	case log.File != nil:
		l.Path = log.File.Path
		return l.Path == stdout || l.Path == stderr || writable(r.Field("file.path"), l.Path)
	case log.GRPC != nil:
		l.LogName = log.GRPC.LogName
		return l.server(r, "grpc.backendRef", log.GRPC.BackendRef)
	default:
		l.OTLP, l.Resource = true, log.OpenTelemetry.Resource
		return l.server(r, "openTelemetry.backendRef", log.OpenTelemetry.BackendRef)
	}
}

// writable tells whether proxies can write a file: because of one that they can't they would take no connection.
func writable(r extend.Reader, path string) bool {
	wrong, known := r.Writable(path)
	if wrong != "" {
		r.Warn(wrong + "; until then the log is left out")
	}
	return known && wrong == ""
}

func (l *Read) server(r extend.Reader, field string, ref gatewayv1.BackendObjectReference) bool {
	key, _, found := r.Field(field).Server(ref, true)
	l.Server = &key
	return found
}

func (l *Read) format(r extend.Reader, log Log) bool {
	f := log.Format
	if f == nil {
		return true
	}
	if log.GRPC != nil {
		r.Field("format").Refuse("a server of the access log service gets all that Envoy knows: leave it out")
		return false
	}
	if f.Text != nil {
		l.Text = *f.Text
		return checked(r, "format.text", l.Text)
	}
	l.JSON = f.JSON
	for _, name := range slices.Sorted(maps.Keys(f.JSON)) {
		if !checked(r, "format.json", f.JSON[name]) {
			return false
		}
	}
	return true
}

// ofAnswers are commands that only make sense once a request has ended; the others are those of headers.
var ofAnswers = regexp.MustCompile(`%(?:RESPONSE_(?:CODE|CODE_DETAILS|FLAGS|FLAGS_LONG|DURATION|TX_DURATION)|` +
	`DURATION|REQUEST_DURATION|REQUEST_TX_DURATION|BYTES_(?:SENT|RECEIVED)|ROUTE_NAME|VIRTUAL_CLUSTER_NAME|` +
	`UPSTREAM_(?:CLUSTER|HOST|LOCAL_ADDRESS|REMOTE_ADDRESS|TRANSPORT_FAILURE_REASON|REQUEST_ATTEMPT_COUNT|PROTOCOL)|` +
	`GRPC_STATUS|GRPC_STATUS_NUMBER|CONNECTION_TERMINATION_DETAILS|PATH\((?:WQ|NQ)(?::(?:ORIG|PATH|ORIG_OR_PATH))?\)|` +
	`START_TIME\((?:[^()%\r\n]|%[^()n\r\n])*\)|TRAILER\([-A-Za-z0-9]+(?:\?[-A-Za-z0-9]+)?\))%`)

func checked(r extend.Reader, field, format string) bool {
	err := checkFormat(format)
	if err != nil {
		r.Field(field).Refuse(err.Error())
	}
	return err == nil
}

// checkFormat tells why a format can't be served.
func checkFormat(format string) error {
	return extend.CheckFormat(ofAnswers.ReplaceAllString(format, ""))
}

// checkFlags tells the first that is no flag of Envoy; "": all are.
func checkFlags(flags []string) string {
	for _, flag := range flags {
		if (&accesslogv3.ResponseFlagFilter{Flags: []string{flag}}).ValidateAll() != nil {
			return flag
		}
	}
	return ""
}

func (l *Read) when(r extend.Reader, w *When) bool {
	if w == nil {
		return true
	}
	l.When = Conditions{Request: w.Request, Status: w.Status, Flags: w.Flags}
	r = r.Field("when")
	if w.Request != nil {
		problems := extend.Validate(*w.Request)
		extend.Refuse(r, "request", problems)
		if len(problems) > 0 {
			return false
		}
		if w.Request.NeedsIdentity() {
			r.Field("request").Refuse("who sent a request is not known where it is matched: leave out claims and users")
			return false
		}
	}
	if w.MinDuration != nil {
		least, err := extend.Duration(*w.MinDuration)
		if err != nil {
			r.Field("minDuration").Refuse(err.Error())
			return false
		}
		l.When.Least = least
	}
	if wrong := checkFlags(w.Flags); wrong != "" {
		r.Field("flags").Refuse(wrong + " is not a response flag of Envoy; write UH, UF, NR, ...")
		return false
	}
	return true
}

func words(v Value) (list []string) {
	for _, l := range v {
		to := l.Path
		if l.Server != nil {
			to = l.Server.Object.String()
		}
		list = append(list, fmt.Sprintf("log %s: to %s", l.Name, to))
	}
	return list
}

package accesslogs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

// Value is the logs that can be written.
type Value []ResolvedLog

// Files that are a proxy's output.
const stdout, stderr = "/dev/stdout", "/dev/stderr"

// ResolvedLog is a log as read. One of Path and Server is set.
type ResolvedLog struct {
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
	ServedAt: map[string]extend.ConnectionKinds{"": extend.OverStreams},
	Read:     readSpec, Renders: renders, Judge: extend.PassAll[Value], Describe: describeValue,
}

func readSpec(r extend.Reader, s Spec) (v Value) {
	for _, log := range s {
		in := r.Field("[" + log.Name + "]")
		l := ResolvedLog{Name: log.Name, Gateway: r.Location().Object}
		if l.readDestination(in, log) && l.readFormat(in, log) && l.readConditions(in, log.When) {
			v = append(v, l)
		}
	}
	return v
}

// readDestination reads where lines go.
func (l *ResolvedLog) readDestination(r extend.Reader, log Log) bool {
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
		return l.Path == stdout || l.Path == stderr || checkWritable(r.Field("file.path"), l.Path)
	case log.GRPC != nil:
		l.LogName = log.GRPC.LogName
		return l.readServer(r, "grpc.backendRef", log.GRPC.BackendRef)
	default:
		l.OTLP, l.Resource = true, log.OpenTelemetry.Resource
		return l.readServer(r, "openTelemetry.backendRef", log.OpenTelemetry.BackendRef)
	}
}

// checkWritable tells whether proxies can write a file: because of one that they can't they would take no connection.
func checkWritable(r extend.Reader, path string) bool {
	wrong, known := r.Writable(path)
	if wrong != "" {
		r.Warn(wrong + "; until then the log is left out")
	}
	return known && wrong == ""
}

func (l *ResolvedLog) readServer(r extend.Reader, field string, ref gatewayv1.BackendObjectReference) bool {
	key, _, found := r.Field(field).Server(ref, true)
	l.Server = &key
	return found
}

func (l *ResolvedLog) readFormat(r extend.Reader, log Log) bool {
	f := log.Format
	if f == nil {
		return true
	}
	if log.GRPC != nil {
		r.Field("format").Refuse("a gRPC server gets all fields that there are; leave format out")
		return false
	}
	if f.Text != nil {
		l.Text = *f.Text
		return checkFormatField(r, "format.text", l.Text)
	}
	l.JSON = f.JSON
	for _, name := range slices.Sorted(maps.Keys(f.JSON)) {
		if !checkFormatField(r, "format.json", f.JSON[name]) {
			return false
		}
	}
	return true
}

// responseCommands are commands that only make sense once a request has ended; the others are those of headers.
var responseCommands = regexp.MustCompile(`%(?:RESPONSE_(?:CODE|CODE_DETAILS|FLAGS|FLAGS_LONG|DURATION|TX_DURATION)|` +
	`DURATION|REQUEST_DURATION|REQUEST_TX_DURATION|BYTES_(?:SENT|RECEIVED)|ROUTE_NAME|VIRTUAL_CLUSTER_NAME|` +
	`UPSTREAM_(?:CLUSTER|HOST|LOCAL_ADDRESS|REMOTE_ADDRESS|TRANSPORT_FAILURE_REASON|REQUEST_ATTEMPT_COUNT|PROTOCOL)|` +
	`GRPC_STATUS|GRPC_STATUS_NUMBER|CONNECTION_TERMINATION_DETAILS|PATH\((?:WQ|NQ)(?::(?:ORIG|PATH|ORIG_OR_PATH))?\)|` +
	`START_TIME\((?:[^()%\r\n]|%[^()n\r\n])*\)|TRAILER\([-A-Za-z0-9]+(?:\?[-A-Za-z0-9]+)?\))%`)

func checkFormatField(r extend.Reader, field, format string) bool {
	err := checkFormat(format)
	if err != nil {
		r.Field(field).Refuse(err.Error())
	}
	return err == nil
}

// checkFormat tells why a format can't be served.
func checkFormat(format string) error {
	return extend.CheckFormat(responseCommands.ReplaceAllString(format, ""))
}

func (l *ResolvedLog) readConditions(r extend.Reader, w *When) bool {
	if w == nil {
		return true
	}
	l.When = Conditions{Request: w.Request, Status: w.Status, Flags: w.Flags}
	r = r.Field("when")
	if r.Location().Connections != 0 {
		for _, part := range []struct {
			field  string
			stated bool
		}{{"request", w.Request != nil}, {"status", len(w.Status) > 0}} {
			if part.stated {
				r.Field(part.field).Refuse(fmt.Sprintf("listener %s of %s decides connections, not requests; state minDuration or "+
					"flags, or leave when out", r.Location().Section, r.Location().Object))
				return false
			}
		}
	}
	if w.Request != nil {
		problems := extend.ValidateMatch(*w.Request)
		extend.Refuse(r, "request", problems)
		if len(problems) > 0 {
			return false
		}
		if w.Request.NeedsIdentity() {
			r.Field("request").Refuse("claims and users are not known when this match is evaluated; leave them out")
			return false
		}
		extend.WarnMatch(r.Field("request"), *w.Request)
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
		r.Field("flags").Refuse(wrong + " is not a response flag; write UH, UF, NR, ...")
		return false
	}
	return true
}

func describeValue(v Value) (list []string) {
	for _, l := range v {
		to := l.Path
		if l.Server != nil {
			to = l.Server.Object.String()
		}
		list = append(list, fmt.Sprintf("log %s: to %s", l.Name, to))
	}
	return list
}

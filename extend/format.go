package extend

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// plainCommands are commands of formats without arguments, but for those of the client's connection. Not among them are
// those that read what is not about the request: variables of the proxy's environment, files, what it knows of others.
var plainCommands = []string{
	"PROTOCOL", "STREAM_ID", "TRACE_ID", "REQUESTED_SERVER_NAME", "RESPONSE_CODE", "RESPONSE_CODE_DETAILS",
	"RESPONSE_FLAGS", "CONNECTION_ID", "HOSTNAME", "START_TIME", "TLS_JA3_FINGERPRINT", "TLS_JA4_FINGERPRINT",
}

// headerCommands are the commands that take a header as argument, or one and another in its place: REQ(x-a?x-b).
var headerCommands = []string{"REQ", "RESP"}

var (
	command       = regexp.MustCompile(`^([A-Z0-9_]+)(?:\((.*)\))?(?::([0-9]{1,4}))?$`)
	headerOr      = regexp.MustCompile(`^:?[-!#$&'*+.^_|~0-9A-Za-z]+(?:\?:?[-!#$&'*+.^_|~0-9A-Za-z]+)?$`)
	metadataPath  = regexp.MustCompile(`^[-./_0-9A-Za-z]+(?::[^:%()]+)*$`)
	queryArgument = regexp.MustCompile(`^[-._0-9A-Za-z]+$`)
)

// CheckFormat tells why a format can't be served. Formats are part of what policies state, in the language of Envoy's
// access logs; each data plane renders them.
//
// Its commands are %REQ(...)%, %RESP(...)%, %DYNAMIC_METADATA(...)%, %QUERY_PARAM(...)%, %CEL(...)%, %DOWNSTREAM_...%
// and some without arguments; a number behind the colon of one with an argument cuts what is longer. A percent sign is
// written twice.
func CheckFormat(format string) error {
	if !isHeaderValue(format) {
		return errors.New("it has a line break or a NUL in it, which no header can have")
	}
	for rest := format; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return nil
		}
		if rest, found = strings.CutPrefix(after, "%"); found {
			continue
		}
		text, behind, closed := cutCommand(after)
		if !closed {
			return errors.New("a command has no end; write %% for a percent sign")
		}
		if err := checkCommand(text); err != nil {
			return fmt.Errorf("%%%s%%: %w", text, err)
		}
		rest = behind
	}
}

// cutCommand cuts at the end of a command: the percent sign behind its arguments, which may have others in them.
func cutCommand(text string) (command, behind string, closed bool) {
	if name, _, ok := strings.Cut(text, "("); !ok || strings.Contains(name, "%") {
		return strings.Cut(text, "%")
	}
	end := regexp.MustCompile(`\)(?::[0-9]*)?%`).FindStringIndex(text)
	if end == nil {
		return "", "", false
	}
	return text[:end[1]-1], text[end[1]:], true
}

func checkCommand(text string) error {
	parts := command.FindStringSubmatch(text)
	if parts == nil {
		return errors.New("it is not a command; write %REQ(x-request-id)%, or %% for a percent sign")
	}
	name, argument, with := parts[1], parts[2], strings.Contains(text, "(")
	var pattern *regexp.Regexp
	switch {
	case strings.HasPrefix(name, "DOWNSTREAM_"), slices.Contains(plainCommands, name):
		if with {
			return errors.New("it takes no argument; write it without brackets")
		}
		if parts[3] != "" {
			return errors.New("it can't be cut; leave out :" + parts[3])
		}
		if !slices.Contains(plainCommands, name) && !slices.Contains(downstreamCommands, name) {
			return errors.New("there is no such command")
		}
		return nil
	case name == "CEL":
		return checkCEL(argument, false)
	case slices.Contains(headerCommands, name):
		pattern = headerOr
	case name == "DYNAMIC_METADATA":
		pattern = metadataPath
	case name == "QUERY_PARAM":
		pattern = queryArgument
	default:
		return fmt.Errorf("%s is not supported in a header; use %%REQ(...)%%, %%CEL(...)%%, %%DYNAMIC_METADATA(...)%% or "+
			"%%DOWNSTREAM_...%%", name)
	}
	if !pattern.MatchString(argument) {
		return fmt.Errorf("%q can't be its argument; write %%REQ(x-a)%%, %%REQ(x-a?x-b)%%, or %%DYNAMIC_METADATA(a:b)%%",
			argument)
	}
	return nil
}

// downstreamCommands are what is known of the client's connection.
var downstreamCommands = []string{
	"DOWNSTREAM_REMOTE_ADDRESS", "DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", "DOWNSTREAM_REMOTE_PORT",
	"DOWNSTREAM_DIRECT_REMOTE_ADDRESS", "DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT",
	"DOWNSTREAM_LOCAL_ADDRESS", "DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT", "DOWNSTREAM_LOCAL_PORT",
	"DOWNSTREAM_LOCAL_URI_SAN", "DOWNSTREAM_LOCAL_SUBJECT", "DOWNSTREAM_PEER_URI_SAN", "DOWNSTREAM_PEER_DNS_SAN",
	"DOWNSTREAM_PEER_SUBJECT", "DOWNSTREAM_PEER_ISSUER", "DOWNSTREAM_PEER_SERIAL", "DOWNSTREAM_PEER_FINGERPRINT_256",
	"DOWNSTREAM_PEER_CERT", "DOWNSTREAM_TLS_VERSION", "DOWNSTREAM_TLS_CIPHER", "DOWNSTREAM_TLS_SESSION_ID",
}

// FormatCommands are formats' commands, each with an argument if it takes one.
func FormatCommands() []string {
	list := slices.Concat(plainCommands, downstreamCommands, []string{
		"CEL(request.path)", "DYNAMIC_METADATA(a.b:c)", "QUERY_PARAM(a)",
	})
	for _, name := range headerCommands {
		list = append(list, name+"(x-a?:path):10")
	}
	return list
}

// identities are parts of formats that stand for who sent a request.
var identities = []string{"metadata", "DYNAMIC_METADATA", "DOWNSTREAM_PEER", "connection."}

// TellsIdentity tells whether a format (CheckFormat) may have in it who sent the request: what authentication found, or
// a name of the client's certificate.
func TellsIdentity(format string) bool {
	return slices.ContainsFunc(identities, func(part string) bool { return strings.Contains(format, part) })
}

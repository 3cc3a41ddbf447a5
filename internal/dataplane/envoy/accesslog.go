package envoy

import (
	"strconv"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	fileaccesslogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	streamaccesslogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/proto"

	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/core/model"
)

// accessLogs are what is done with each request that ends.
type accessLogs struct {
	own   []*accesslogv3.AccessLog // policies can state others instead, or none
	count []*accesslogv3.AccessLog // what metrics are made of, whatever is logged
}

// logsOf are those of a Gateway's port: each request is counted, and written to the file if there is one.
func logsOf(gateway model.ObjectRef, port int32, file string) accessLogs {
	logs := accessLogs{count: append([]*accesslogv3.AccessLog{countRequests(gateway)}, countModels(gateway)...)}
	if file != "" {
		logs.own = []*accesslogv3.AccessLog{{
			Name: "default", Filter: extend.AccessLogFilter(),
			ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: mustAny(linesTo(file, gateway, port))},
		}}
	}
	return logs
}

// linesTo writes JSON to a file; "-" is the standard output, which a process without privileges may be unable to open
// by a name.
func linesTo(file string, gateway model.ObjectRef, port int32) proto.Message {
	format := extend.AccessLogFormat(extend.AccessLogJSON(map[string]string{
		"gateway": gateway.NamespacedName(), "port": strconv.Itoa(int(port)),
	}))
	if file == "-" {
		return &streamaccesslogv3.StdoutAccessLog{
			AccessLogFormat: &streamaccesslogv3.StdoutAccessLog_LogFormat{LogFormat: format},
		}
	}
	return &fileaccesslogv3.FileAccessLog{
		Path: file, AccessLogFormat: &fileaccesslogv3.FileAccessLog_LogFormat{LogFormat: format},
	}
}

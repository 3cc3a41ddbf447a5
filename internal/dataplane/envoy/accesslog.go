package envoy

import (
	"strconv"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	fileaccesslogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	streamaccesslogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/proto"

	extendenvoy "cardea.dev/cardea/extend/envoy"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/dataplane/envoy/message"
	"cardea.dev/cardea/internal/dataplane/envoy/metrics"
)

// accessLogs are what is done with each request that ends.
type accessLogs struct {
	own   []*accesslogv3.AccessLog // policies can state others instead, or none
	count []*accesslogv3.AccessLog // what metrics are made of, whatever is logged
}

// accessLogsOf are those of a Gateway's port: each request is counted, and written to the file if there is one.
func accessLogsOf(gateway model.ObjectRef, port int32, file string) accessLogs {
	logs := accessLogs{count: append([]*accesslogv3.AccessLog{metrics.CountRequests(gateway)},
		metrics.CountModels(gateway)...)}
	if file != "" {
		logs.own = []*accesslogv3.AccessLog{{
			Name: "default", Filter: extendenvoy.AccessLogFilter(),
			ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: message.MustAny(jsonAccessLog(file, gateway, port))},
		}}
	}
	return logs
}

// jsonAccessLog writes FormatJSON to a file; "-" is the standard output, which a process without privileges may be
// unable to open by a name.
func jsonAccessLog(file string, gateway model.ObjectRef, port int32) proto.Message {
	format := extendenvoy.AccessLogFormat(extendenvoy.AccessLogJSON(map[string]string{
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

// Package filesync feeds proxies that read files: it writes each Gateway's resources as files, an edit in steps.
//
// It owns when which step is written, and what the graph is told of it (resource.Feedback). It must never know what
// stands in a file: a dialect says what the next step is (dataplane.Files). Nor does it know what a Store is: a folder,
// or objects of a cluster. One goroutine runs it.
//
// Proxies acknowledge nothing, so time takes the place of an acknowledgement: what names something new is written when
// every proxy had the time to read what is new (Config.Sync), and what nothing names any more is removed when every
// proxy had the time to read that.
//
// Start reading at Store and Writer.
package filesync

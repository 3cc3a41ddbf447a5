// Package fetch fetches the documents that policies depend on, such as key sets, over HTTP.
//
//	plan.Fetches --> Fetcher: a goroutine for each document --> input.Fetched
//
// The content that was fetched last is kept while it can't be fetched. A document is asked for when it is first wanted,
// after its refresh time, and, while it can't be fetched, again and again after waits that grow. No edit of anything
// else makes it asked for.
//
// Users who may write policies are not trusted with what this program reaches (Reach), nor to leave others time (lane).
// Answers are bounded in size and time, and TLS is always verified.
//
// It owns when and how documents are fetched. It must never know what they say. Start reading at Fetcher.Run.
package fetch

// Package flow keeps collections derived from other collections up to date, running again only what a change touches.
//
// # What it owns
//
// A [Graph] owns a list of collections. A [Source] is filled from outside; [Derive], [Map], [Rename] and [Group] make
// new collections from earlier ones with pure functions, and [Fetch] lets such a function look up one key of any
// earlier collection. A [Projection] lets code read collections of several types as one. The order of creation is the
// topological order, so a cycle can't be written down.
//
//	edges ── Apply ──> queue ──> turn ──────────────────────────────────> commit ──> View, Watch, Follow
//	                             source   derive   group   derive            │
//	                             ┌────┐   ┌────┐   ┌────┐   ┌────┐           └ base + overlay = new base,
//	                             │ ▪  │──>│ ▪▪ │──>│ ▪  │──>│ ▪  │             under one short lock
//	                             └────┘   └────┘   └────┘   └────┘
//	                                        └──────fetch──────^
//
// It must never know what the values mean: no Gateway API, no Envoy, nothing but the standard library.
//
// # A turn
//
// A turn takes every queued edit, then visits the collections in the order of their creation. In each one the dirty
// keys are those with a changed input, and those that fetched something in their last run that changed, absence
// included. They run, in parallel if there are many, and their results are staged beside the committed values. A
// collection is finished before the next one begins, so no transform sees half a change, and a key that moves from one
// group to another leaves and enters in one step. The commit makes the whole turn visible at once and gives it the next
// [Rev]. A turn that changes nothing has no Rev of its own. [Graph.Try] is a turn that stages values, shows them, and
// drops them.
//
// The first turn waits until [Source.MarkSynced] was called for every source: so the first state that anybody reads is
// complete.
//
// # What is kept
//
//	slot (one a key)            cell (immutable)
//	┌──────────────┐ cell       ┌─────────────┐ <── member <── Members of a group
//	│ changedAt    │───────────>│ key, value  │
//	│ readers ──┐  │ next       └─────────────┘
//	│ runs ──┐  │  │───────────> the staged cell, while a turn runs
//	└────────┼──┼──┘                    slots are found by key through a table without keys of its own
//	         │  └──> runs of later collections that fetched this key
//	         └──> one run a collection made from this one: its deps, and the slots that it filled
//
// A new value that is equal to the old one is dropped and the old one stays, so pointers inside values are stable and
// "not changed" can be seen by comparing pointers. Equality is structural and built from the type when a collection is
// made; a type that holds a func, a channel, an interface or a protobuf message is refused there, with a panic that
// names the field. A nil slice and an empty one differ, as they do in JSON. Values must not hold pointer cycles.
//
// [Graph.Dump] shows values as JSON. So that it shows no secret, plain bytes are refused as a func is: a type that
// holds some says by MarshalText or MarshalJSON how it is shown.
//
// A derived key costs about 130 bytes besides itself and its value, a fetch about 16 (BenchmarkBytes prints them).
//
// # The contract for transforms
//
//   - A transform's result depends on its arguments and on what it fetches, and on nothing else: no clock, no
//     random numbers, no package variables, no order of a map.
//   - A transform neither changes its arguments nor keeps them for the next run. It does not change what it has
//     returned.
//     Returned values may share memory with arguments.
//   - [Derive] may emit a key only under the input key that the key's Owner method names, and once.
//   - A transform uses its [Ctx] only in its own goroutine and only until it returns.
//   - It doesn't call the Graph.
//   - It doesn't fetch a key that thousands of other runs fetch: each change of that key would run all of them.
//
// [Config.Check] turns breaches into failures; every test should set it. A panic of a transform is contained: its key
// keeps its old results, is marked stale, appears in [Graph.Panics] in a later turn, and runs again when something that
// it read changes.
//
// # Goroutines
//
// [Graph.Run] is the one goroutine that runs turns; without it, [Graph.Settle] runs them in the caller's. [Graph.Apply]
// may be called from any goroutine, also inside a View, and never waits for a turn. Views run in
// the caller's goroutine, many at a time, beside a running turn; only the commit waits for them, so a View copies what
// it needs and returns. Inside a View, don't call View, Try, Settle or Dump: each can wait for a commit that waits for
// this View.
//
// # Where to start reading
//
// Start with turn.go; then store.go (slots and the overlay), derive.go and group.go (the forms), edge.go (which run
// read which key).
package flow
